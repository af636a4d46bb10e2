"""Runs every reader over every file that may be of its kind. A reader that fails costs its own part only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from doctor.facts.model import Event, EventSpec, Fact
from doctor.rulebase.pack import cache_folder
from doctor.session.kinds import is_text
from doctor.session.notes import Note
from doctor.session.report import Input
from probes.files.job_config import claims, read_config, read_echo
from probes.files.log import LogFile, LogReading, read_logs
from probes.files.log.stream import chunks
from probes.files.node_dump import read_dump
from probes.files.table import read_table

T = TypeVar("T")

WHOLE = 4 << 20
"""Files up to this size are read whole by the readers of configurations, dumps and tables."""

HEAD = 1 << 18
"""Of larger ones, which are logs, these readers see the beginning: launchers echo their arguments there."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: where it lies, how it is shown, its size as stored."""

    path: str
    name: str
    bytes: int


@dataclass(slots=True)
class Gathered:
    """What all readers together found."""

    inputs: list[Input] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def gather(files: Sequence[File], specs: Mapping[str, EventSpec]) -> Gathered:
    """Facts and events of `files`, and for each file what it was taken for."""
    found = Gathered()
    logs: dict[str, tuple[File, str, list[Note]]] = {}
    for file in files:
        notes: list[Note] = []
        data = _beginning(file, notes)
        if not data:
            found.inputs.append(Input(file.name, "", file.bytes, notes=tuple(notes)))
            continue
        kind, is_log = _small_readers(file, data, found, notes)
        if is_log:
            logs[file.name] = (file, kind, notes)
        else:
            found.inputs.append(Input(file.name, kind, file.bytes, notes=tuple(notes)))
    _logs(logs, specs, found)
    found.inputs.sort(key=lambda given: given.path)
    return found


def _beginning(file: File, notes: list[Note]) -> bytes:
    """The text at the start of a file, all of it when it is small; nothing, and a note, when it is no text."""
    remarks: list[str] = []
    try:
        pieces = chunks(Path(file.path), remarks.append, WHOLE)
        data = next(pieces, b"")
        if data and is_text(data[:HEAD]):
            if file.bytes > WHOLE:
                return data[:HEAD]
            return data + b"".join(islice(pieces, WHOLE // len(data) if len(data) >= HEAD else None))
    except OSError as error:
        notes.append(Note("input.unreadable", file.name, {"reason": error.strerror or str(error)}))
        return b""
    if data:
        notes.append(Note("input.binary", file.name))
    elif remarks:
        notes.append(Note("input.damaged", file.name, {"reason": remarks[0]}))
    else:
        notes.append(Note("input.empty_file", file.name))
    return b""


def _small_readers(file: File, data: bytes, found: Gathered, notes: list[Note]) -> tuple[str, bool]:
    """Runs the readers of configurations, tables and dumps; what the file is, and whether it is a log as well."""
    if _attempt("job_config", file, notes, lambda: claims(file.name, data)):
        config = _attempt("job_config", file, notes, lambda: read_config(file.name, data))
        if config is not None:
            _keep(file, found, notes, config.facts, config.warnings)
            return "config", False
    table = _attempt("table", file, notes, lambda: read_table(file.name, data))
    if table is not None:
        _keep(file, found, notes, table.facts, table.warnings)
        return "table", False
    echo = _attempt("job_config", file, notes, lambda: read_echo(file.name, data))
    if echo is not None:
        _keep(file, found, notes, echo.facts, echo.warnings)
    dump = _attempt("node_dump", file, notes, lambda: read_dump(file.name, data))
    if dump is not None:
        _keep(file, found, notes, dump.facts, dump.warnings)
    return ("dump" if dump is not None and dump.kinds else "log"), True


def _keep(file: File, found: Gathered, notes: list[Note], facts: Iterable[Fact], warnings: Iterable[str]) -> None:
    found.facts += facts
    notes += [Note("input.probe_says", file.name, {"text": text}) for text in warnings]


def _logs(logs: Mapping[str, tuple[File, str, list[Note]]], specs: Mapping[str, EventSpec], found: Gathered) -> None:
    """Reads all logs together, since ranks and runs are told from the whole; one by one if that fails."""
    every = [LogFile(Path(file.path), name) for name, (file, _, _) in logs.items()]
    readings: list[LogReading] = []
    try:
        readings = [_read_logs(every, specs)] if every else []
    except Exception:
        for log in every:
            file, _, notes = logs[log.name]
            reading = _attempt("log", file, notes, lambda log=log: _read_logs([log], specs))  # type: ignore[misc]
            readings += [reading] if reading else []
    known = {info.path: info for reading in readings for info in reading.inputs}
    for reading in readings:
        found.events += reading.events
        found.facts += reading.facts
    spoken = {event.source.path for event in found.events}
    for name, (file, kind, notes) in logs.items():
        info = known.get(name)
        for text in info.warnings if info else ():
            notes.append(Note("input.probe_says", name, {"text": text}))
        shown = "log" if name in spoken and kind == "dump" else kind
        rank, host = (info.rank, info.host) if info else (None, None)
        found.inputs.append(Input(name, shown if info else "", file.bytes, rank, host, tuple(notes)))


def _read_logs(files: list[LogFile], specs: Mapping[str, EventSpec]) -> LogReading:
    return read_logs(files, list(specs.values()), cache_folder())


def _attempt(probe: str, file: File, notes: list[Note], read: Callable[[], T]) -> T | None:
    """What `read` gives, or None and a note: a defect of one reader must not cost what the others find."""
    try:
        return read()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        notes.append(Note("input.probe_failed", file.name, {"probe": probe, "reason": reason}))
        return None
