"""File systems that the job writes to: kind, free space, inodes, how long they take to answer. Nothing is written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from doctor.facts.model import Fact
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.processes import Rank, ranks_here
from probes.node.job import CHECKPOINTS

SPEC = ProbeSpec(
    "storage",
    "where the job writes (files it has open, checkpoints): kind of file system, free space, inodes, time of an answer",
    (
        *("node.storage", "node.storage_full", "node.storage_inodes_full", "node.storage_read_only"),
        *("node.storage_hung", "node.storage_seconds"),
    ),
    privilege="the job's user or root",
)

PATIENCE = 1.2
"""Seconds after which a file system that says nothing counts as one that does not answer: local ones take
microseconds, one over a network some milliseconds."""
LITTLE, FEW = 1 << 30, 1000
"""Bytes and inodes that are not enough for the next checkpoint of any model."""
MOST_PLACES, MOST_RANKS, MOST_FILES = 32, 16, 4096
WRITES = os.O_WRONLY | os.O_RDWR
NOT_STORED = ("/proc/", "/sys/", "/dev/", "/memfd:", "/run/")


def probe(host: Host) -> Iterator[Fact]:
    try:
        ranks = ranks_here(host).job
    except OSError as error:
        yield failed("node.storage", why(error), host.node, "/proc")
        return
    places = _places(host, ranks)
    if not places:
        return
    answers = _asked(host, list(places))
    mounts = _mounts(host, ranks[0])
    shown: list[str] = []
    faults: dict[str, list[str]] = {"full": [], "inodes_full": [], "read_only": [], "hung": []}
    slowest = (0.0, "")
    for path, source in places.items():
        kind, read_only = next(((k, r) for point, k, r in mounts if _within(path, point)), ("", False))
        answer = answers.get(path)
        if answer is None:
            faults["hung"].append(f"{path} ({kind})" if kind else path)
            continue
        if isinstance(answer, OSError):
            yield failed("node.storage", f"{path}: {why(answer)}", host.node, source)
            continue
        seconds, found = answer
        slowest = max(slowest, (seconds, path))
        free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
        shown.append(f"{path}: {kind or 'file system'}, {free / 1e9:.1f} of {total / 1e9:.1f} GB free")
        if total and free < LITTLE:
            faults["full"].append(path)
        if found.f_files and found.f_favail < FEW:
            faults["inodes_full"].append(path)
        if read_only or found.f_flag & os.ST_RDONLY:
            faults["read_only"].append(path)
    if shown:
        yield measured("node.storage", tuple(shown), host.node, "statvfs", shown[0])
        yield measured("node.storage_seconds", slowest[0], host.node, f"statvfs {slowest[1]}")
    for name, paths in faults.items():
        yield measured(f"node.storage_{name}", tuple(paths), host.node, "statvfs", ", ".join(paths) or "none")


def _places(host: Host, ranks: Sequence[Rank]) -> dict[str, str]:
    """Folders that the job writes to, each with where that is told."""
    found: dict[str, str] = {}
    for rank in ranks[:MOST_RANKS]:
        with suppress(OSError):
            for number in host.names(f"{rank.proc}/fd")[:MOST_FILES]:
                with suppress(OSError, ValueError):
                    path = os.readlink(host.path(f"{rank.proc}/fd/{number}"))
                    if path.startswith("/") and not path.startswith(NOT_STORED) and _writes(host, rank, number):
                        found.setdefault(os.path.dirname(path), f"{rank.proc}/fd/{number}")
    for rank in ranks[:1]:
        with suppress(OSError):
            folder = os.readlink(host.path(f"{rank.proc}/cwd"))
            for value in _checkpoints(rank.command):
                path = os.path.normpath(os.path.join(folder, value))
                found.setdefault(_existing(host, path), f"{rank.proc}/cmdline")
    return dict(list(found.items())[:MOST_PLACES])


def _writes(host: Host, rank: Rank, number: str) -> bool:
    """Is the file open for writing? /proc/PID/fdinfo has the flags of open(2) in octal."""
    lines = host.text(f"{rank.proc}/fdinfo/{number}", 4096).splitlines()
    flags = next((line.partition(":")[2] for line in lines if line.startswith("flags:")), "0")
    return bool(int(flags, 8) & WRITES)


def _checkpoints(command: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(command):
        name, sign, value = word.partition("=")
        if name.replace("_", "-") in CHECKPOINTS:
            value = value if sign else command[index + 1] if index + 1 < len(command) else ""
            if value and "://" not in value:
                yield value


def _existing(host: Host, path: str) -> str:
    """The folder, or the nearest above it that is there already. A file system that hangs is not asked here."""
    while len(path) > 1 and not os.path.lexists(host.path(path)):
        path = os.path.dirname(path)
    return path


def _asked(host: Host, paths: Sequence[str]) -> dict[str, tuple[float, os.statvfs_result] | OSError]:
    """What each file system answers and after how many seconds. Each is asked in a thread of its own, which is left
    behind if it hangs."""
    answers: dict[str, tuple[float, os.statvfs_result] | OSError] = {}

    def ask(path: str) -> None:
        begin = time.monotonic()
        try:
            found = os.statvfs(host.path(path))
        except OSError as error:
            answers[path] = error
            return
        answers[path] = (time.monotonic() - begin, found)

    threads = [threading.Thread(target=ask, args=(path,), daemon=True) for path in paths]
    for thread in threads:
        thread.start()
    end = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0.0))
    return dict(answers)


def _mounts(host: Host, rank: Rank) -> list[tuple[str, str, bool]]:
    """Mount points as the job sees them, longest first: where, which kind, read-only or not (proc(5), mountinfo)."""
    try:
        lines = host.text(f"{rank.proc}/mountinfo").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if len(fields) > 5 and kinds:
            options = {*fields[5].split(","), *(kinds[2].split(",") if len(kinds) > 2 else ())}
            found.append((fields[4].replace("\\040", " "), kinds[0], "ro" in options))
    return sorted(found, key=lambda mount: len(mount[0]), reverse=True)


def _within(path: str, point: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")
