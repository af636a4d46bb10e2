"""Reads what the recorder in a training job wrote (doctor/recorder): one file of JSON lines a rank.

A file may end within a line, since the job may have been killed while it wrote, and may hold several attempts of a job,
one after the other: the last that trained is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from doctor.facts.model import Fact
from probes.files.expert_loads.model import LoadError
from probes.files.recording.facts import facts
from probes.files.recording.model import Head, Line, Recording

__all__ = ["RecordingReading", "is_recording", "read_recordings"]

MARK = b'"pdoctor_recording":'
HEAD = 1 << 12
LONGEST = 1 << 20
MOST_BYTES = 1 << 30
_HEADS, _LINES = msgspec.json.Decoder(Head), msgspec.json.Decoder(Line)


@dataclass(slots=True)
class RecordingReading:
    """Facts of all ranks; the rank of each file; remarks by file."""

    facts: list[Fact] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def says(self, name: str, text: str) -> None:
        self.warnings.setdefault(name, []).append(f"{name}: {text}")


def is_recording(path: Path) -> bool:
    """Does the file begin as a recorder's does?"""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return head.startswith(b"{") and MARK in head.partition(b"\n")[0]


def read_recordings(files: Sequence[tuple[Path, str]]) -> RecordingReading:
    """Facts of `files`, each of which `is_recording` takes for a recording. Of two of one rank the later is told."""
    reading = RecordingReading()
    chosen: dict[int, Recording] = {}
    for path, name in files:
        try:
            found = _read(path, name, reading)
        except OSError as error:
            reading.says(name, f"cannot be read: {error.strerror or type(error).__name__}")
            continue
        if found is None:
            continue
        rank = reading.ranks[name] = found.head.rank
        other = chosen.get(rank)
        if other is not None:
            older = min(found, other, key=lambda one: (one.steps > 0, one.head.at))
            reading.says(older.path, f"records rank {rank}, of which another file tells later: it is left out")
            found = other if older is found else found
        chosen[rank] = found
    reading.facts += facts([chosen[rank] for rank in sorted(chosen)])
    return reading


def _read(path: Path, name: str, reading: RecordingReading) -> Recording | None:
    """The last attempt in the file that trained, else the last."""
    chosen: Recording | None = None
    trained: Recording | None = None
    attempts = odd = 0
    first_odd = ""
    with path.open("rb") as file:
        for number, text, whole in _lines(file):
            try:
                if MARK in text[:HEAD]:
                    head = _HEADS.decode(text)
                    if not 0 <= head.rank < 1 << 24:
                        raise msgspec.ValidationError(f"no job has a rank {head.rank}")
                    attempts += 1
                    trained = chosen if chosen is not None and chosen.steps else trained
                    chosen = Recording(head, name, number)
                elif chosen is not None:
                    _take(_LINES.decode(text), number, chosen)
            except (msgspec.DecodeError, RecursionError, LoadError) as error:
                if whole:  # a last line that was cut is the usual end of a job that was killed
                    odd += 1
                    first_odd = first_odd or f"line {number}: {str(error)[:120]}"
        cut = file.tell() >= MOST_BYTES
    if odd:
        reading.says(name, f"{odd} lines are damaged and were left out, the first is {first_odd}")
    if cut:
        reading.says(name, f"is larger than any recording: only the first {MOST_BYTES:,} bytes were read")
    if chosen is not None and not chosen.steps:
        chosen = trained or chosen
    if chosen is None:
        return None
    if attempts > 1:
        reading.says(name, f"holds {attempts} attempts of the job: the last that trained is told")
    if chosen.off:
        reading.says(name, f"the recorder switched itself off: {chosen.off[:200]}")
    if chosen.lost:
        reading.says(name, f"{chosen.lost} lines were lost, since the disk did not take them in time")
    if not chosen.steps:
        reading.says(name, "holds no step: no optimizer that was attached stepped, and recorder.step() was not called")
    return chosen


def _take(line: Line, number: int, into: Recording) -> None:
    if line.record == "step":
        if not into.add(line, number):
            raise msgspec.ValidationError(f"step {line.step} of {line.seconds} s is none")
    elif line.record == "held":
        into.held = line
    elif line.record == "experts" and line.step >= 0:
        into.loads.add(line.step, line.layer[:60], line.tokens_per_expert)
    elif line.record == "off":
        into.off = line.why or "for a reason it does not tell"
    elif line.record == "lost" and 0 < line.lines < 1 << 40:
        into.lost += line.lines


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes, bool]]:
    """Lines with their numbers, and whether each ends; one beyond any length is handed on in part, as damaged."""
    number = 0
    while file.tell() < MOST_BYTES and (text := file.readline(LONGEST)):
        number += 1
        whole = text.endswith(b"\n")
        while not whole and len(text) >= LONGEST and (more := file.readline(LONGEST)):
            whole = more.endswith(b"\n")
            if whole:
                break
        yield number, text, whole
