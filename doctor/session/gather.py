"""Runs every reader over every file that may be of its kind. A reader that fails costs its own part only."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar, cast

from doctor.facts.model import Event, EventSpec, Fact
from doctor.rulebase.pack import cache_folder
from doctor.session.bundle import replayed
from doctor.session.contents import File, beginning
from doctor.session.notes import Note
from doctor.session.quotes import agreed, shown_in
from doctor.session.recordings import told_once
from doctor.session.report import Input
from probes.files.elsewhere import Elsewhere
from probes.files.expert_loads import is_loads, read_loads
from probes.files.flight_recorder import is_dump, read_dumps
from probes.files.job_config import claims, read_config, read_echo
from probes.files.log import LAST_LINE, LogFile, LogReading, read_logs
from probes.files.log.segments import LINE
from probes.files.memory_snapshot import is_snapshot, read_snapshots
from probes.files.node_dump import read_dump
from probes.files.nsys import is_nsys, read_nsys
from probes.files.recording import is_recording, read_recordings
from probes.files.runs import JOB, runs_of
from probes.files.stacks import is_stacks, read_printed, read_stacks
from probes.files.table import read_table
from probes.files.trace import Progress, TraceFile, is_trace, read_traces
from probes.files.what_if import is_what_if, read_what_if

T = TypeVar("T")


class Reading(Protocol):
    """What a reader of files that are read apart gives: facts, the rank of a file, and remarks by file."""

    facts: list[Fact]
    ranks: dict[str, int]
    warnings: dict[str, list[str]]


APART: tuple[tuple[str, Callable[[Path], bool], Callable[[list[tuple[Path, str]]], Reading]], ...] = (
    ("flight_recorder", is_dump, read_dumps),
    ("memory_snapshot", is_snapshot, read_snapshots),
    ("recording", is_recording, read_recordings),
    ("expert_loads", is_loads, read_loads),
    ("what_if", is_what_if, read_what_if),
    ("stacks", is_stacks, read_stacks),
    ("nsys", is_nsys, read_nsys),
)
"""Kinds of files that are known by their first bytes."""

WHOLE = 4 << 20
"""A configuration, dump or table is read up to this size."""

PLACED = re.compile(r"(?P<place>(?::\d+)?): (?P<text>.*)", re.DOTALL)
"""What follows the name of the file in a remark: its line, if it has one, and the text."""

SHARED, LEAST, ENDS, AT_ENDS = 4 << 20, 1 << 14, 4, 1 << 18
"""What the readers of arguments and dumps see of all files together, and of each at least; and how many of the first
and last files they see more of. A launcher echoes its arguments at the beginning, a framework in the log of the first
or the last rank, and the logs of a thousand ranks must not be read twice."""


LINE_END = re.compile(rb"[\r\n]")

Known: TypeAlias = dict[Hashable, tuple[object, tuple[Note, ...]]]
"""What readers said of a file, by what they were asked."""


class Place(Protocol):
    """Where files come from: from disk once, or growing, when much of what was found before still holds."""

    def beginning(self, file: File, limit: int) -> tuple[bytes, list[Note]]: ...

    def logs(self, files: Sequence[LogFile], specs: Mapping[str, EventSpec]) -> LogReading: ...

    def may_print_stacks(self, file: File) -> bool: ...

    def follows(self, file: File) -> bool:
        """Are its lines read, if it is a log?"""
        ...

    def known(self, file: File) -> Known:
        """Kept as long as the beginning of the file, and a file that is no log as a whole, does not change."""
        ...


@dataclass(slots=True)
class Disk:
    """Files as they lie on disk; `elsewhere` reads logs on other machines."""

    elsewhere: Elsewhere | None = None

    def beginning(self, file: File, limit: int) -> tuple[bytes, list[Note]]:
        return beginning(file, limit)

    def logs(self, files: Sequence[LogFile], specs: Mapping[str, EventSpec]) -> LogReading:
        return read_logs(files, list(specs.values()), cache_folder(), elsewhere=self.elsewhere)

    def may_print_stacks(self, file: File) -> bool:
        return True

    def follows(self, file: File) -> bool:
        return True

    def known(self, file: File) -> Known:
        return {}


@dataclass(slots=True, eq=False)
class Taken:
    """A file with what it was taken for and the remarks on it."""

    file: File
    data: bytes
    kind: str = "log"
    notes: list[Note] = field(default_factory=list)
    known: Known = field(default_factory=dict)

    def attempt(self, probe: str, read: Callable[[], T], asked: Hashable = None) -> T | None:
        """What `read` gives, or None and a note: a defect of one reader must not cost what the others find. `asked` is
        what the answer depends on beside the file; without it nothing is remembered."""
        if asked is not None and (before := self.known.get((probe, asked))) is not None:
            self.notes += before[1]
            return cast(T | None, before[0])
        try:
            notes: tuple[Note, ...] = ()
            found: T | None = read()
        except Exception as error:
            values = {"probe": probe, "reason": f"{type(error).__name__}: {error}"}
            found, notes = None, (Note("input.probe_failed", self.file.name, values),)
        self.notes += notes
        if asked is not None:
            self.known[probe, asked] = found, notes
        return found

    def says(self, warnings: Iterable[str]) -> None:
        for text in warnings:
            found = PLACED.match(text.removeprefix(self.file.name)) if text.startswith(self.file.name) else None
            place, plain = (found["place"], found["text"]) if found else ("", text)
            self.notes.append(Note("input.probe_says", self.file.name, {"place": place, "text": plain}))

    def entry(self, rank: int | None = None, host: str | None = None) -> Input:
        return Input(self.file.name, self.kind, self.file.bytes, rank, host, tuple(self.notes), self.file.path)


@dataclass(slots=True)
class Gathered:
    """What all readers together found."""

    inputs: list[Input] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def gather(
    files: Sequence[File],
    specs: Mapping[str, EventSpec],
    progress: Progress | None = None,
    elsewhere: Elsewhere | None = None,
    place: Place | None = None,
) -> Gathered:
    """Facts and events of `files`, and for each file what it was taken for.

    `progress` is told (done, all) of the files that take long to read; `elsewhere` reads them on other machines;
    `place` is where they come from, if not from disk.
    """
    place = place or Disk(elsewhere)
    files, kept = replayed(files)
    found = Gathered(kept.inputs, kept.facts)
    files = _apart(files, found, elsewhere, place)
    taken = [_opened(file, room, place) for file, room in zip(files, rooms(files), strict=True)]
    readable = [file for file in taken if file.data]
    _traces([file for file in readable if is_trace(file.data)], found, progress, elsewhere)
    readable = [file for file in readable if file.kind != "trace"]
    for file in readable:
        if file.attempt("job_config", lambda file=file: claims(file.file.name, file.data), "claims"):  # type: ignore[misc]
            file.kind = "config"
        elif _table(file, found):
            file.kind = "table"
    logs = [file for file in readable if file.kind == "log"]
    runs = _runs([file.file.name for file in logs], [file.file.name for file in readable if file.kind == "config"])
    for file in readable:
        if file.kind == "config":
            _config(file, runs[file.file.name], found)
        elif file.kind == "log":
            _log_head(file, runs[file.file.name], found)
    _logs(logs, specs, found, place)
    if set(runs.values()) == {JOB}:
        _printed_stacks([file for file in logs if place.may_print_stacks(file.file)], found)
    _remarks([file for file in readable if file.kind == "config"], runs, specs, found)
    found.inputs += [file.entry() for file in taken if file not in logs and file.kind != "trace"]
    found.inputs, found.facts = told_once(found.inputs, found.facts)
    found.inputs.sort(key=lambda given: given.path)
    return found


def _apart(files: Sequence[File], found: Gathered, elsewhere: Elsewhere | None, place: Place) -> list[File]:
    """Reads the files that are known by their first bytes, each kind together, since no rank's says much alone; the
    other files are given back."""
    for kind, is_one, reader in APART:
        read = partial(read_dumps, elsewhere=elsewhere) if kind == "flight_recorder" else reader
        every = [Taken(file, b"", kind, known=place.known(file)) for file in files]
        taken = [
            one
            for one in every
            if one.attempt(kind, lambda one=one, is_one=is_one: is_one(Path(one.file.path)), "is one")  # type: ignore[misc]
        ]
        if not taken:
            continue
        named = [(Path(file.file.path), file.file.name) for file in taken]
        together = tuple((file.file.path, file.file.bytes) for file in taken)
        reading = taken[0].attempt(kind, partial(read, named), together)
        for file in taken:
            name = file.file.name
            file.says(reading.warnings.get(name, ()) if reading else ())
            found.inputs.append(file.entry(reading.ranks.get(name) if reading else None))
        found.facts += reading.facts if reading else []
        read_now = {file.file.path for file in taken}
        files = [file for file in files if file.path not in read_now]
    return list(files)


def _traces(files: Sequence[Taken], found: Gathered, progress: Progress | None, elsewhere: Elsewhere | None) -> None:
    """Reads the traces of all ranks together, several at a time: ranks are compared with each other."""
    if not files:
        return
    named = [TraceFile(Path(file.file.path), file.file.name) for file in files]
    reading = files[0].attempt("trace", lambda: read_traces(named, cache_folder(), progress, elsewhere=elsewhere))
    for file in files:
        file.kind, name = "trace", file.file.name
        file.says(reading.remarks.get(name, ()) if reading else ())
        place = (reading.ranks.get(name), reading.hosts.get(name) or None) if reading else (None, None)
        found.inputs.append(file.entry(*place))
    found.facts += reading.facts if reading else []


def rooms(files: Sequence[File]) -> list[int]:
    """How many bytes of each file the readers of arguments and dumps see."""
    each = max(LEAST, SHARED // max(len(files), 1))
    order = sorted(range(len(files)), key=lambda index: _natural(files[index].name))
    ends = {*order[:ENDS], *order[-ENDS:]}
    return [max(each, AT_ENDS) if index in ends else each for index in range(len(files))]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts rank2 before rank10."""
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d{1,18})", name)]


def _opened(file: File, room: int, place: Place) -> Taken:
    data, notes = place.beginning(file, room)
    return Taken(file, data, "log" if data else "", notes, place.known(file))


def _runs(logs: list[str], configs: list[str]) -> dict[str, str]:
    """The run of each file. A configuration belongs to a run only if a log of that run is there, else to the job."""
    runs = dict(runs_of(logs))
    together = runs_of([*logs, *configs])
    known = set(runs.values())
    return runs | {name: together[name] if together[name] in known else JOB for name in configs}


def _config(file: Taken, run: str, found: Gathered) -> None:
    name = file.file.name
    data, _ = beginning(file.file, WHOLE)
    entity = run if run == JOB else f"run:{run}"
    reading = file.attempt("job_config", lambda: read_config(name, data, entity), entity)
    if reading is not None:
        found.facts += reading.facts
        file.says(reading.warnings)


def _remarks(files: Sequence[Taken], runs: Mapping[str, str], specs: Mapping[str, EventSpec], found: Gathered) -> None:
    """Catalogued messages in notes and excerpts of code, which hold speeds and calls beside the settings."""
    for file in files:
        log = LogFile(Path(file.file.path), file.file.name)
        reading = file.attempt("log", lambda log=log: _read_logs([log], specs), "remarks")  # type: ignore[misc]
        if reading is not None:
            own = (event for event in _shown([file], reading.events, specs) if event.name in specs)
            found.events += [replace(event, run=runs[file.file.name]) for event in own]


def _shown(files: Sequence[Taken], events: Iterable[Event], specs: Mapping[str, EventSpec]) -> list[Event]:
    """The events that a run printed, without those that a program or a manual merely names."""
    tests = {
        file.file.name: file.attempt("shown", lambda file=file: shown_in(file.file.name, file.data), "shown")  # type: ignore[misc]
        for file in files
    }
    told = {name: test for name, test in tests.items() if test is not None}
    return [e for e in events if (test := told.get(e.source.path)) is None or test(e, specs.get(e.name))]


def _table(file: Taken, found: Gathered) -> bool:
    """Is the file a table that is known? Its facts are kept, and those of the tables in a note."""
    table = file.attempt("table", lambda: read_table(file.file.name, file.data), "table")
    if table is None or not table.facts:
        return False
    found.facts += table.facts
    file.says(table.warnings)
    return table.whole


def _log_head(file: Taken, run: str, found: Gathered) -> None:
    """What a log, or a text that is none, says besides events: arguments that were echoed, output of node commands."""
    name = file.file.name

    def echo() -> list[Fact]:
        text = file.data.decode("utf-8", errors="replace")
        return list(read_echo(run, enumerate(text.split("\n"), 1), name))

    found.facts += agreed(name, file.attempt("job_config", echo, ("echo", run)) or [])
    dump = file.attempt("node_dump", lambda: read_dump(name, file.data, file.file.host or None), "dump")
    if dump is not None:
        found.facts += dump.facts
        file.says(dump.warnings)
        file.kind = "dump" if dump.kinds else "log"


def _logs(files: Sequence[Taken], specs: Mapping[str, EventSpec], found: Gathered, place: Place) -> None:
    """Reads all logs together, since ranks and runs are told from the whole; one by one if that fails."""
    every = [LogFile(Path(file.file.path), file.file.name) for file in files]
    readings: list[LogReading] = []
    try:
        readings = [place.logs(every, specs)] if every else []
    except Exception:
        for file, log in zip(files, every, strict=True):
            reading = file.attempt("log", lambda log=log: place.logs([log], specs))  # type: ignore[misc]
            readings += [reading] if reading else []
    for reading in readings:
        found.events += _shown(files, reading.events, specs)
        found.facts += reading.facts
    infos = {info.path: info for reading in readings for info in reading.inputs}
    speaking = {event.source.path for event in found.events if event.name in specs}
    for file in files:
        info = infos.get(file.file.name)
        file.says(info.warnings if info else ())
        if file.kind == "dump" and file.file.name in speaking:
            file.kind = "log"
        if file.kind == "log" and len(file.data) >= LINE and not LINE_END.search(file.data):
            shown = {"n": f"{len(file.data):,}", "limit": f"{LINE:,}"}
            file.notes.append(Note("input.no_line", file.file.name, shown))
        if file.kind == "log" and not place.follows(file.file):
            file.kind = ""
            file.notes.append(Note("watch.packed", file.file.name))
        found.inputs.append(file.entry(info.rank, info.host) if info else file.entry())
    # Output of a command ends where it ends: that says nothing of how far a job came.
    dumps = {file.file.name for file in files if file.kind == "dump"}
    found.events = [event for event in found.events if event.name != LAST_LINE or event.source.path not in dumps]


def _printed_stacks(logs: Sequence[Taken], found: Gathered) -> None:
    """Stacks at the ends of logs, unless stacks were handed over by themselves."""
    if logs and not any(given.kind == "stacks" for given in found.inputs):
        ranks = {given.path: given.rank for given in found.inputs}
        named = [(Path(file.file.path), file.file.name, ranks.get(file.file.name)) for file in logs]
        reading = logs[0].attempt("stacks", lambda: read_printed(named))
        found.facts += reading.facts if reading else []


def _read_logs(files: list[LogFile], specs: Mapping[str, EventSpec]) -> LogReading:
    return Disk().logs(files, specs)
