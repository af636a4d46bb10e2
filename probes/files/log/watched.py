"""All logs of a job that runs, each of which grows by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from doctor.facts.model import Event, EventSpec
from probes.files.log import elsewhere as away
from probes.files.log.facts import facts_of
from probes.files.log.growing import Growing
from probes.files.log.lines import BULK
from probes.files.log.matcher import ENGINES, QUICK_ENGINES, Matcher
from probes.files.log.model import InputInfo, LogReading
from probes.files.log.patterns import Patterns
from probes.files.log.ranks import ranks_by_folder
from probes.files.log.reader import FileReading
from probes.files.log.rising import Rising
from probes.files.runs import runs_of
from probes.files.uncollected import uncollected

BULK_IN_ALL, BULK_LEAST = 4096, 16
"""Ordinary messages of all files that are read one by one, and of each at least."""

FULL_SHARE = 8
"""Logs up to which each may keep as much as a log that is read alone."""

LEAST_SHARE = 0.05


class WatchedLogs:
    """Logs by name. `quick` starts at once, and reads faster when much has come.

    `expected` is the number of logs that are to come, as far as it is known: the more, the less each keeps.
    """

    def __init__(self, specs: Sequence[EventSpec], cache_dir: Path | None, quick: bool = False) -> None:
        self._patterns = Patterns(specs)
        engine = partial(away.matchers, self._patterns.texts, frozenset(), cache_dir)
        matcher, _, self.complaints = engine(QUICK_ENGINES if quick else ENGINES)
        self._matcher: Matcher = Rising(matcher, lambda: engine(ENGINES)[0]) if quick else matcher
        self._logs: dict[str, Growing] = {}
        self._lines, self._unplaced = 0, False
        self._read: dict[str, tuple[object, FileReading]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._logs

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def lines(self) -> int:
        """Whole lines so far."""
        return self._lines

    def add(self, name: str, expected: int, written: float) -> None:
        """A log that is new; `written` is when it was written to last, in seconds since the epoch."""
        bulk = max(BULK_LEAST, min(BULK, BULK_IN_ALL // max(1, expected)))
        share = max(LEAST_SHARE, min(1.0, FULL_SHARE / max(1, expected)))
        log = self._logs[name] = Growing(name, self._patterns, self._matcher, bulk=bulk, share=share)
        log.written = datetime.fromtimestamp(written, UTC).date()
        self._unplaced = True

    def drop(self, name: str) -> None:
        """Forget a log that is not asked for any more."""
        self._logs.pop(name, None)
        self._read.pop(name, None)

    def feed(self, name: str, data: bytes, at: float, anew: bool = False) -> list[Event]:
        """The events of what was written to `name`. `anew` if it is the beginning of another file of that name."""
        if self._unplaced:
            self._place(self._logs)
            self._unplaced = False
        log = self._logs[name]
        lines = log.lines
        events = log.ended(at) if anew else []
        self._read.pop(name, None)
        events += log.feed(data, at)
        self._lines += log.lines - lines
        return events

    def ripe(self, at: float) -> bool:
        """Can something be told now that was read a moment ago?"""
        return any(log.ripe(at) for log in self._logs.values())

    def position(self, name: str) -> int:
        """How far the log was read, as `Event.order` counts."""
        return self._logs[name].position

    def reading(self, names: Iterable[str], at: float | None = None) -> LogReading:
        """Events and facts of the logs called `names`, as if there were no others; `at` as for `Growing.reading`."""
        chosen = [name for name in names if name in self._logs]
        with uncollected():
            runs = self._place(chosen)
            readings = [self._one(name, at) for name in chosen]
            events = [event for reading in readings for event in reading.events]
            inputs = [InputInfo(r.name, "log", r.size, r.rank, r.host, tuple(r.warnings)) for r in readings]
            return LogReading(events, facts_of(readings, runs), inputs)

    def _place(self, names: Iterable[str]) -> dict[str, str]:
        chosen = list(names)
        runs, ranks = dict(runs_of(chosen)), ranks_by_folder(chosen)
        for name in chosen:
            log = self._logs[name]
            log.run, log.rank, log.alone, log.one_node = runs[name], ranks.get(name), len(chosen) == 1, bool(ranks)
        return runs

    def _one(self, name: str, at: float | None) -> FileReading:
        """What was told before, where nothing has come since and nothing had to wait."""
        log = self._logs[name]
        context = (log.run, log.rank, log.alone, log.one_node)
        if (known := self._read.get(name)) is not None and known[0] == context:
            return known[1]
        waiting = at is not None and log.pending
        reading = log.reading(at)
        if not waiting:
            self._read[name] = (context, reading)
        return reading
