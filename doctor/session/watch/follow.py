"""What a person named to be watched, as something that can be followed; what cannot be is said at once."""

from __future__ import annotations

import glob
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from doctor.facts.model import Fact, Quality, Source
from doctor.session.analyze import STDIN
from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.watch.model import Mark
from doctor.session.watch.own import apart
from probes.live.follow import Files, Follower, Processes, Targets
from probes.live.follow.stream import Stream
from probes.live.follow.tail import Tail
from probes.live.follow.targets import SlurmJob


@dataclass(slots=True)
class Following:
    """`roots` are the paths as they were named, `waiting` those of them that are not there yet."""

    follower: Follower
    roots: tuple[str, ...]
    targets: tuple[Targets, ...]
    waiting: tuple[str, ...] = ()
    streams: tuple[Stream, ...] = ()
    facts: tuple[Fact, ...] = ()
    """What is known of this node, where the job runs on it."""
    further: list[str] = field(default_factory=list)
    """What is named later, to be followed beside the rest."""

    def over(self) -> bool:
        """Has the job ended, as far as processes, Slurm or pipes tell?"""
        told = [over for target in self.targets if (over := target.over()) is not None]
        if told:
            return all(told)
        files = any(path not in {stream.path for stream in self.streams} for path in self.follower.followed)
        return bool(self.streams) and not files and not any(stream.open for stream in self.streams)


def follow(
    paths: Sequence[str],
    pids: Sequence[int] = (),
    slurm: str | None = None,
    stdin: IO[bytes] | None = None,
    marks: Sequence[Mark] = (),
    clock: Callable[[], float] = time.time,
    own: Sequence[Path] = (),
) -> Following:
    """Follows files, patterns and folders, what processes and a Slurm job write, and standard input for `-`.

    `marks` tell which files were read before a restart, wherever they lie now; `own` are files that pdoctor itself
    writes, which are not followed where a folder holds them, and not its output either. Raises InputError for what
    cannot be followed: a path in a folder that does not exist, a process that is not there or whose output goes
    elsewhere.
    """
    targets: list[Targets] = []
    streams = [Stream(STDIN, stdin.fileno())] if stdin is not None and STDIN in paths else []
    named = [path for path in paths if path != STDIN]
    if named:
        targets.append(Files(named))
    waiting = [path for path in named if not glob.has_magic(path) and not os.path.exists(path)]
    for path in waiting:
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise InputError(Note("input.missing", path))
    if pids:
        targets.append(_processes(pids))
    if slurm is not None:
        targets.append(_slurm(slurm, clock))
    further: list[str] = []
    follower = Follower(lambda: _all([*targets, Files(further)]), clock, streams, apart(own))
    for mark in marks:
        if isinstance(tail := follower.add(mark.path), Tail):
            tail.go_on(mark.device, mark.inode, mark.offset)
    here = (_memory(),) if pids else ()
    return Following(follower, tuple(named), tuple(targets), tuple(waiting), tuple(streams), here, further)


def _memory() -> Fact:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    source = Source("probe", "/proc/meminfo")
    return Fact("node.memory_total", total, f"node:{platform.node()}", source, quality=Quality.MEASURED)


def _all(targets: Sequence[Targets]) -> Iterator[str]:
    for target in targets:
        yield from target()


def _processes(pids: Sequence[int]) -> Processes:
    processes = Processes(pids)
    for pid in pids:
        if Processes([pid]).over():
            raise InputError(Note("watch.no_process", str(pid)))
    if not any(True for _ in processes()):
        pid, reason = next(iter(processes.unreadable.items()), (pids[0], ""))
        raise InputError(Note("watch.no_output" if reason else "watch.no_files", str(pid), {"reason": reason}))
    return processes


def _slurm(job: str, clock: Callable[[], float]) -> SlurmJob:
    try:
        return SlurmJob(job, clock)
    except FileNotFoundError:
        raise InputError(Note("watch.no_slurm", job, {"reason": "scontrol: not found"})) from None
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise InputError(Note("watch.no_slurm", job, {"reason": str(error)})) from None
