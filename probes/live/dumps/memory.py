"""Asks pdoctor's recorder in the ranks of this node for snapshots of GPU memory, while the job runs on.

A rank that uses a GPU holds the named pipe `.rankN.ask` open beside its recording `rankN.jsonl`
(doctor/recorder/pipe.py). A byte in it is looked for at the end of each step, and answered by lines in the recording
that tell of a history that begins, of the file that was written, or why there is none.
"""

from __future__ import annotations

import json
import os
import re
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from probes.live.dumps.pipe import poke
from probes.node.interface.host import Host
from probes.node.interface.model import why
from probes.node.interface.processes import Rank, process_as

PIPE = re.compile(r"(?P<folder>/.*)/\.(?P<stem>rank\d{1,7})\.ask")
FILE = re.compile(r"rank\d{1,7}-memory-\d{1,4}\.pickle")
WHAT = "the pipe of its recorder"
WAIT, LOOK = 900.0, 0.25
"""Seconds that all ranks together are given, since a step may last a minute; between two looks."""
MOST_BYTES, MOST_NEWS = 96 << 20, 1 << 20
"""Bytes of a snapshot that is read beside the job, which takes some ten times as much; and of what is read of a
recording at once."""
MARK = b'"record":"snapshot"'


@dataclass(slots=True)
class Taken:
    """The new snapshot of each rank that wrote one; for the others why there is none, and their ranks."""

    files: dict[int, Path] = field(default_factory=dict)
    refused: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class _Asked:
    """`recording` is the file that the rank has open, read up to the place of `file`; files of `owner` lie in `folder`
    as the rank sees it. A rank that runs out of memory tells of its snapshot and ends."""

    rank: Rank
    recording: Path
    folder: str
    owner: int
    file: BinaryIO
    cut: bytes = b""


def listening(host: Host) -> Iterator[Rank]:
    """Every process of this node that can be asked, with the rank that its recorder has, in no order: also those of
    jobs that tell nobody else of their ranks, as one that is a single process."""
    for name in host.names("/proc"):
        with suppress(OSError, LookupError):
            if name.isdecimal() and (found := _listens(host, int(name))) is not None:
                yield process_as(host, int(name), found)


def _listens(host: Host, pid: int) -> int | None:
    for number in host.names(f"/proc/{pid}/fd"):
        with suppress(OSError):
            if match := PIPE.fullmatch(os.readlink(host.path(f"/proc/{pid}/fd/{number}"))):
                return int(match["stem"].removeprefix("rank"))
    return None


def snapshots(host: Host, ranks: Sequence[Rank], wait: float = WAIT, stopping: threading.Event | None = None) -> Taken:
    """Asks each rank and waits for its snapshot, until `stopping` is set; never raises."""
    taken, asked = Taken(), []
    for rank in ranks:
        try:
            asked.append(_ask(host, rank))
        except LookupError as error:
            taken.refused[str(error.args[0])].append(rank.rank)
    end = time.monotonic() + wait
    stopping = stopping or threading.Event()
    while asked and time.monotonic() < end and not stopping.is_set():
        asked = [one for one in asked if not _answered(host, one, taken)]
        if asked:
            stopping.wait(LOOK)
    for one in asked:
        one.file.close()
        if stopping.is_set():
            continue
        taken.refused[f"took none within {wait:g} s: it does so at the end of a step"].append(one.rank.rank)
    return taken


def _ask(host: Host, rank: Rank) -> _Asked:
    """Writes a byte to the pipe that the rank has open; LookupError says why not."""
    opened = dict(_open_files(host, rank))
    pipe = next((number for number, path in opened.items() if PIPE.fullmatch(path)), "")
    match = PIPE.fullmatch(opened.get(pipe, ""))
    if match is None:
        raise LookupError("runs no recorder that sees a GPU; see docs/recorder.md")
    recording = f"{match['folder']}/{match['stem']}.jsonl"
    number = next((number for number, path in opened.items() if path == recording), "")
    if not number:
        raise LookupError("has its recorder switched off")
    try:
        # By what the rank itself has open, so that no other file can take the place of either.
        place, owner = host.path(f"{rank.proc}/fd/{number}"), os.stat(host.path(rank.proc)).st_uid
        asked = _Asked(rank, place, match["folder"], owner, place.open("rb"))
    except OSError as error:
        raise LookupError(f"{WHAT}: {why(error)}") from None
    try:
        asked.file.seek(0, os.SEEK_END)
        poke(host.path(f"{rank.proc}/fd/{pipe}"), WHAT, follow=True, owner=owner)
    except OSError as error:
        asked.file.close()
        raise LookupError(f"{WHAT}: {why(error)}") from None
    except LookupError:
        asked.file.close()
        raise
    return asked


def _open_files(host: Host, rank: Rank) -> Iterator[tuple[str, str]]:
    folder = f"{rank.proc}/fd"
    try:
        numbers = host.names(folder)
    except OSError as error:
        raise LookupError(f"does not show its open files: {why(error)}") from None
    for number in numbers:
        with suppress(OSError):
            yield number, os.readlink(host.path(f"{folder}/{number}"))


def _answered(host: Host, one: _Asked, taken: Taken) -> bool:
    """Is it known how it went?"""
    over = not one.recording.exists()
    for line in _news(one):
        if "file" in line:
            try:
                taken.files[one.rank.rank] = _file(host, one, str(line["file"]))
            except LookupError as error:
                taken.refused[str(error.args[0])].append(one.rank.rank)
        elif "why" in line:
            taken.refused[str(line["why"])[:300]].append(one.rank.rank)
        else:
            continue
        one.file.close()
        return True
    if over:
        taken.refused["ended before it took one"].append(one.rank.rank)
        one.file.close()
    return over


def _news(one: _Asked) -> Iterator[dict[str, object]]:
    """Lines about snapshots that were written since the last look."""
    try:
        data = one.file.read(MOST_NEWS)
    except OSError:
        return
    *lines, one.cut = (one.cut + data).split(b"\n")
    one.cut = one.cut[-MOST_NEWS:]
    for text in lines:
        if MARK in text:
            with suppress(ValueError, RecursionError):
                line = json.loads(text)
                if isinstance(line, dict):
                    yield line


def _file(host: Host, one: _Asked, name: str) -> Path:
    """The snapshot by its plain path, or as the rank sees it where that lies in a container; LookupError for what is
    none: the recording is text that anybody may have written."""
    if not FILE.fullmatch(name):
        raise LookupError("names a file that no recorder writes")
    plain = host.path(f"{one.folder}/{name}")
    inside = host.path(f"{one.rank.proc}/root{one.folder}/{name}")
    try:
        path = inside if os.path.lexists(inside) and not _same(inside, plain) else plain
        found = os.lstat(path)
    except OSError as error:
        raise LookupError(f"{name}: {why(error)}") from None
    if not stat.S_ISREG(found.st_mode) or found.st_uid != one.owner:
        raise LookupError(f"{name} is another file than the recorder's")
    if found.st_size > MOST_BYTES:
        size = f"{found.st_size >> 20} MiB"
        raise LookupError(f"holds {size}, too much to be read beside the job: pdoctor analyze {path}")
    return path


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.lstat(one), os.lstat(other))
    return False
