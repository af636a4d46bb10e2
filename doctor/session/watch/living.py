"""The files of a job that runs, as the readers want them: logs that grow, and others that come and change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doctor.facts.model import Event, EventSpec, Symptom
from doctor.rulebase.load import Loaded
from doctor.rulebase.pack import cache_folder
from doctor.session.analyze import STDIN, STDIN_NAME, Material, configs_of, shown_files
from doctor.session.contents import SAMPLE, File, beginning
from doctor.session.gather import APART, Known, gather
from doctor.session.kinds import is_text
from doctor.session.notes import Note
from doctor.session.watch.further import Further
from probes.files.log import LogFile, LogReading
from probes.files.log.place import place
from probes.files.log.watched import WatchedLogs
from probes.files.trace import is_trace
from probes.live.follow import Piece

HEADS, HEAD_MOST = 16 << 20, 1 << 18
"""Bytes kept of the beginnings of all files, and of one at most: they hold the arguments of the job."""

GROWN = 1.25
"""The beginning of a log is read again when it has grown by a quarter."""

STACKS = b"(most recent call first)"
LATEST = 1 << 33
"""Seconds since the epoch that a file may have been written at: some file systems keep any number."""

NOWHERE = "/dev/null/pipe"
"""A path at which nothing can be."""

CHANGED = 2.0
"""Seconds between two looks at whether files that are no logs have changed."""


@dataclass(slots=True)
class _Followed:
    """`head` is the beginning as far as it is kept, `seen` that part of it which is read, `shown` what readers were
    given of that; `log` tells whether the file holds lines that are read as they come."""

    name: str
    path: str
    size: int = 0
    head: bytes = b""
    seen: bytes = b""
    shown: bytes = b""
    log: bool = True
    stamp: tuple[int, int] = (0, 0)
    stacks: bool = False
    known: Known = field(default_factory=dict)
    attempt: int | None = None
    begins: int = 0
    """Where the part begins that belongs to the last attempt."""

    @property
    def mute(self) -> bool:
        """Is it a pipe through which something else than lines comes? It cannot be read once more, as a file can."""
        return not self.log and self.path == NOWHERE


class Living:
    """All that is followed of a job. `roots` are what was named, for files to be shown by their path below it;
    `expected` is the number of files that are to come, as far as it is known."""

    def __init__(self, loaded: Loaded, roots: Sequence[str], quick: bool = False) -> None:
        self.loaded, self._roots = loaded, list(roots)
        specs = loaded.base.events
        self._logs = WatchedLogs(list(specs.values()), cache_folder(), quick)
        self._serious = {name for name, spec in specs.items() if spec.symptom is not Symptom.NONE}
        self._files: dict[str, _Followed] = {}
        self.attempts: list[int] = []
        """The restart attempts whose logs are among the files, in order."""
        self._by_name: dict[str, _Followed] = {}
        self._at: float | None = None
        self._looked = 0.0
        self.further = Further()
        self.bytes = 0

    @property
    def lines(self) -> int:
        return self._logs.lines

    @property
    def files(self) -> int:
        return len(self._files)

    def is_log(self, path: str) -> bool:
        return self._files[path].log

    def meet(self, pieces: Iterable[Piece], at: float, expected: int) -> list[Note]:
        """Files that are new, before anything is read of them: each is placed among the others. Gives a remark on each
        from which no line will come."""
        notes = []
        for piece in pieces:
            if piece.path not in self._files and (file := self._new(piece, at, expected)).mute:
                notes.append(Note("watch.not_lines", file.name))
        return notes

    def take(self, piece: Piece, at: float, expected: int) -> list[Event]:
        """The events of what was written."""
        file = self._files.get(piece.path) or self._new(piece, at, expected)
        file.size += len(piece.data)
        self.bytes += len(piece.data)
        if not file.log:
            return []
        room = min(HEAD_MOST, HEADS // max(1, expected))
        if len(file.head) < room:
            file.head += piece.data[: room - len(file.head)].replace(b"\0", b"")
            if len(file.head) >= GROWN * len(file.seen) or len(file.head) >= room:
                file.seen = file.head
        file.stacks = file.stacks or STACKS in piece.data
        return self._logs.feed(file.name, piece.data, at, piece.anew)

    def serious(self, events: Iterable[Event]) -> bool:
        """Does any of them show that something is amiss?"""
        return any(event.name in self._serious or event.name == "python.traceback" for event in events)

    def ripe(self, at: float) -> bool:
        return self._logs.ripe(at)

    def changed(self, at: float) -> bool:
        """Has a file that is no log changed?"""
        if at - self._looked < CHANGED:
            return False
        self._looked, found = at, False
        for file in self._files.values():
            if not file.log and (stamp := _stamp(file.path)) != file.stamp:
                file.stamp, file.known, found = stamp, {}, True
        return found

    def material(self, at: float | None, attempt: int | None = None) -> Material:
        """What is known at `at`, of everything if None: of one attempt and of the files that belong to none."""
        self._at = at
        if at is None:
            for file in self._files.values():
                file.seen = file.head
        chosen = [file for file in self._files.values() if attempt is None or file.attempt in (None, attempt)]
        files = [File(file.path, file.name, file.size if file.log else file.stamp[0]) for file in chosen]
        gathered = gather(files, self.loaded.base.events, place=self)
        begins = {file.name: file.begins for file in chosen if attempt is not None and file.begins}
        events = [event for event in gathered.events if self._counts(event, begins)]
        configs = configs_of(files, gathered.inputs)
        return Material(
            self.loaded, tuple(gathered.inputs), (*gathered.facts, *self.further.facts()), tuple(events), (), configs
        )

    def begin_attempt(self) -> None:
        """What failed before belongs to the attempt before, whose own files are needed no more."""
        self.further.begin_attempt()
        latest = self.attempts[-1]
        for path, file in [*self._files.items()]:
            if file.attempt is not None and file.attempt < latest:
                del self._files[path], self._by_name[file.name]
                self._logs.drop(file.name)
        for file in self._files.values():
            if file.attempt is None and file.name in self._logs:
                file.begins = self._logs.position(file.name)

    def beginning(self, file: File, limit: int) -> tuple[bytes, list[Note]]:
        followed = self._by_name[file.name]
        if followed.mute:
            return b"", [Note("watch.not_lines", file.name)]
        if not followed.log:
            return beginning(file, limit)
        head = followed.seen
        if len(head) > limit:
            head = head[: head.rfind(b"\n", 0, limit) + 1 or limit]
        if head != followed.shown:
            followed.shown, followed.known = head, {}
        return head, [] if head else [Note("input.no_text", file.name)]

    def logs(self, files: Sequence[LogFile], specs: Mapping[str, EventSpec]) -> LogReading:
        return self._logs.reading([file.name for file in files], self._at)

    def may_print_stacks(self, file: File) -> bool:
        return self._by_name[file.name].stacks

    def follows(self, file: File) -> bool:
        return self._by_name[file.name].log

    def known(self, file: File) -> Known:
        return self._by_name[file.name].known

    def _new(self, piece: Piece, at: float, expected: int) -> _Followed:
        piped = piece.path == STDIN  # whatever file is called so
        name = STDIN_NAME if piped else shown_files([(piece.path, 0)], self._roots or [piece.path])[0].name
        while name in self._by_name:
            name = piece.path if name != piece.path else f"{name}'"
        # A pipe must not be opened by any reader: it would wait for a writer, or take what is written.
        path = Path(piece.path if not piped and os.path.isfile(piece.path) else NOWHERE)
        file = _Followed(name, str(path), attempt=place(name).attempt)
        first = piece.data[:SAMPLE].replace(b"\0", b"")
        file.log = (not first or is_text(first)) and not is_trace(first) and not any(one(path) for _, one, _ in APART)
        file.stamp = (0, 0) if piped else _stamp(piece.path)
        self._files[piece.path] = self._by_name[name] = file
        if file.attempt is not None and file.attempt not in self.attempts:
            self.attempts = sorted([*self.attempts, file.attempt])
        if file.log:
            changed = file.stamp[1] / 1e9
            self._logs.add(name, expected, changed if 0 < changed < LATEST else at)
        return file

    @staticmethod
    def _counts(event: Event, begins: Mapping[str, int]) -> bool:
        return "symptom" not in event.fields or event.order >= begins.get(event.source.path, 0)


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of the last change."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_size, found.st_mtime_ns
