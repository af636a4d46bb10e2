"""Reads traces of the PyTorch profiler (libkineto) of any year: NVIDIA, AMD, MTIA and the host alone.

Nothing heavy is imported before a trace is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from doctor.facts.model import Fact
from probes.files.elsewhere import Elsewhere

if TYPE_CHECKING:
    from probes.files.trace.across import Ranked
    from probes.files.trace.model import Summary

SMALL = 8 << 20
"""Files of so many bytes together are read in this process: starting another takes a fifth of a second."""

PACKED = b"\x1f\x8b"
PACKED_WEIGHT = 20
"""Traces shrink to a twentieth."""

BEGIN = re.compile(rb"\s*[\[{]")
CLAIM = re.compile(
    rb'"traceEvents"\s*:\s*\[|"deviceProperties"\s*:\s*\[|"ph"\s*:\s*"[XMisf]"[^{}]{0,400}"(?:cat|name|ts)"\s*:'
    rb'|"(?:name|cat)"\s*:\s*"[^"]{0,400}"[^{}]{0,200}"ph"\s*:\s*"[XMisf]"'
)
Progress: TypeAlias = Callable[[int, int], None]
Done: TypeAlias = Callable[[int, Callable[[], "Summary"]], None]


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace: where it lies, and the name it is shown by."""

    path: Path
    name: str


@dataclass(slots=True)
class TraceReading:
    """What all traces together say; `remarks` and `ranks` by the name of the file."""

    facts: list[Fact] = field(default_factory=list)
    remarks: dict[str, list[str]] = field(default_factory=dict)
    ranks: dict[str, int | None] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)


def is_trace(head: bytes) -> bool:
    """Is this the beginning of a Chrome trace, by its content?"""
    return BEGIN.match(head) is not None and CLAIM.search(head[: 1 << 16]) is not None


def read_traces(
    files: Sequence[TraceFile],
    cache: Path | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    elsewhere: Elsewhere | None = None,
) -> TraceReading:
    """Facts of `files`. `cache` is where summaries are kept; `progress` is told (done, all) after each file.

    `elsewhere` summarizes the files first; what it leaves is summarized here.
    """
    reading = TraceReading()
    found = _summaries(files, cache, progress, workers, reading, elsewhere)
    _facts(found, reading)
    return reading


def summary_of(path: Path, shown: str, cache: Path | None) -> Summary:
    """The summary of one file, the kept one where the file has not changed."""
    from probes.files.trace import keep
    from probes.files.trace.summary import summarize

    key = keep.fingerprint(path, shown)
    kept = keep.load(cache, key)
    if kept is None:
        kept = summarize(path, shown)
        keep.save(cache, key, kept)
    return kept


def _summaries(
    files: Sequence[TraceFile],
    cache: Path | None,
    progress: Progress | None,
    workers: int | None,
    reading: TraceReading,
    elsewhere: Elsewhere | None = None,
) -> list[tuple[TraceFile, Summary]]:
    """The summaries in the order of the files; a file that cannot be read costs a remark only."""
    found: dict[int, Summary] = {}

    def done(index: int, get: Callable[[], Summary]) -> None:
        try:
            found[index] = get()
        except Exception as error:  # one broken file, or a worker that was killed, must not cost the others
            reading.remarks[files[index].name] = [f"cannot be read: {type(error).__name__}: {error}"]
        if progress is not None:
            progress(len(found), len(files))

    left = list(range(len(files)))
    if elsewhere is not None:
        calls = [(file.path, file.name, cache) for file in files]
        left = elsewhere(summary_of, calls, lambda index, summary: done(index, lambda: summary))
    here = [files[index] for index in left]
    count = min(workers or len(os.sched_getaffinity(0)), len(here))
    if count < 2 or sum(map(_weight, here)) <= SMALL:
        for index in left:
            file = files[index]
            done(index, lambda file=file: summary_of(file.path, file.name, cache))  # type: ignore[misc]
    else:
        killed = _at_once(here, cache, count, lambda place, get: done(left[place], get))
        # The system ends a process that wants too much memory, and with it all that wait: each of these is tried alone.
        for place in killed:
            _at_once([here[place]], cache, 1, lambda _, get, index=left[place]: done(index, get))  # type: ignore[misc]
    return [(file, found[index]) for index, file in enumerate(files) if index in found]


def _at_once(files: Sequence[TraceFile], cache: Path | None, count: int, done: Done) -> list[int]:
    """Reads `files` in `count` processes; gives those that were not read because a process was killed."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    killed: list[int] = []
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        jobs = {pool.submit(summary_of, file.path, file.name, cache): index for index, file in enumerate(files)}
        for job in as_completed(jobs):
            if len(files) > 1 and isinstance(job.exception(), BrokenProcessPool):
                killed.append(jobs[job])
            else:
                done(jobs[job], job.result)
    return sorted(killed)


def _weight(file: TraceFile) -> int:
    try:
        with file.path.open("rb") as opened:
            packed = opened.read(2) == PACKED
        return file.path.stat().st_size * (PACKED_WEIGHT if packed else 1)
    except OSError:
        return 0


def _facts(found: list[tuple[TraceFile, Summary]], reading: TraceReading) -> None:
    from probes.files.trace.across import Ranked, across_facts
    from probes.files.trace.facts import file_facts, job_facts

    ranked: dict[int, Ranked] = {}
    unnamed: list[tuple[TraceFile, Summary]] = []
    for file, summary in found:
        remarks = reading.remarks.setdefault(file.name, [])
        remarks += summary.remarks
        if not summary.readable:
            continue
        reading.hosts[file.name] = summary.host
        rank = summary.rank
        if rank is None:
            unnamed.append((file, summary))
        elif rank in ranked:
            _twice(file, summary, ranked, rank, reading)
        else:
            ranked[rank] = Ranked(rank, file.name, summary)
    for file, summary in unnamed:
        # A file that names no rank is told all the same, under a number that no other has.
        number = next(number for number in range(len(found) + len(ranked) + 1) if number not in ranked)
        ranked[number] = Ranked(number, file.name, summary)
        reading.remarks[file.name].append(f"counts as rank {number} here")
    kept = list(ranked.values())
    taken: set[tuple[str, int]] = set()
    for one in kept:
        reading.ranks[one.path] = one.rank
        reading.facts += file_facts(one.summary, one.path, one.rank, _host(one, taken))
    reading.facts += job_facts([(one.path, one.summary) for one in kept])
    if len(kept) > 1:
        together = list(across_facts(kept))
        reading.facts += together
        for fact in together:
            if fact.name == "trace.clock_offset" and isinstance(fact.value, float):
                text = f"clocks of the ranks differ by up to {fact.value * 1e3:.1f} ms: ranks are compared without them"
                reading.remarks.setdefault(kept[0].path, []).append(text)


def _host(one: Ranked, taken: set[tuple[str, int]]) -> str:
    """The host of a rank's devices. Devices of one number on hosts that no file names are those of several ranks."""
    places = {(one.summary.host or "?", device.index) for device in one.summary.devices}
    host = (one.summary.host or "?") if not places & taken else f"?rank{one.rank}"
    taken |= places
    return host


def _twice(file: TraceFile, summary: Summary, ranked: dict[int, Ranked], rank: int, reading: TraceReading) -> None:
    """Of two files of one rank the later recording counts; the other is said to be left out."""
    other = ranked[rank]
    earlier = (summary.base + summary.first) < (other.summary.base + other.summary.first)
    lost = file.name if earlier else other.path
    if not earlier:
        ranked[rank] = replace(other, path=file.name, summary=summary)
    reading.ranks[lost] = rank
    text = f"is a second trace of rank {rank}: the later one is told, this one is left out"
    reading.remarks.setdefault(lost, []).append(text)


__all__ = ["TraceFile", "TraceReading", "is_trace", "read_traces", "summary_of"]
