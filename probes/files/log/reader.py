"""Reads one log from its first byte to its last and places what was found: rank, host, time."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import islice, takewhile
from operator import attrgetter
from pathlib import Path

from doctor.facts.model import Event, Source, Symptom, Value
from probes.files.log.captures import typed
from probes.files.log.clock import Clock
from probes.files.log.head import HEAD_LINES, Head, stated_day
from probes.files.log.hit import Hit
from probes.files.log.lines import BULK, TRACEBACK, Lines
from probes.files.log.matcher import Matcher
from probes.files.log.noise import is_noise
from probes.files.log.patterns import Patterns
from probes.files.log.place import Place, place
from probes.files.log.prefix import Prefix, failed_in, rank_in, split
from probes.files.log.segments import Segment, segments, text_of
from probes.files.log.tracebacks import fields_of
from probes.files.stream import chunks, error_file

LAST_LINE = "log.last_line"
TAIL_LINES = 2000
EPOCH = date(1970, 1, 1)
TIME = re.compile(rb"\d\d:\d\d:\d\d")
"""What stands beside every date."""


@dataclass(slots=True)
class FileReading:
    """What one log says. `world` is the number of ranks of the largest communicator seen."""

    name: str
    size: int
    events: list[Event] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    place: Place = field(default_factory=Place)
    rank: int | None = None
    host: str | None = None
    first_time: float | None = None
    last_time: float | None = None
    lines: int = 0


def read_file(
    source: Path | bytes,
    name: str,
    patterns: Patterns,
    matcher: Matcher,
    telling: Matcher,
    *,
    limit: int | None = None,
    rank: int | None = None,
    alone: bool = True,
    bulk: int = BULK,
    run: str = "job",
    one_node: bool = False,
) -> FileReading:
    """Read the log at `source`. `rank` is what other files suggest of this one, `alone` if there are none;
    `telling` is `matcher` without vague patterns; `bulk` is the number of occurrences after which an ordinary message
    is sampled. On `one_node` local ranks are ranks.

    OSError if it cannot be opened.
    """
    reading = FileReading(name, len(source) if isinstance(source, bytes) else source.stat().st_size, place=place(name))
    lines = Lines(name, patterns, matcher, telling, bulk)
    tail: deque[Segment] = deque(maxlen=2)
    head = Head()
    source = error_file(source) or source
    for segment in segments(chunks(source, reading.warnings.append, limit)):
        if segment.number == 0:
            head = Head(segment.units)
            lines.style = head.style
        lines.feed(segment)
        tail.append(segment)
    lines.finish()
    written = datetime.fromtimestamp(source.stat().st_mtime, UTC).date() if isinstance(source, Path) else EPOCH
    clock = Clock(day_of(written, name, head, tail) or written)
    hits = sorted((hit for kept in lines.kept.values() for hit in kept), key=attrgetter("position"))
    placer = Placer(reading, lines, Seen().note(hits), head, rank, alone, run, one_node)
    reading.first_time = head.time(clock.day)
    reading.events = [placer.event(hit, clock) for hit in hits]
    reading.events += placer.last_lines(tail, clock, hits[-1] if hits else None)
    reading.counts = lines.counts()
    if tail:
        reading.lines = tail[-1].line_at(len(tail[-1].data)) - (tail[-1].data[-1:] in b"\n")
    times = [event.time for event in reading.events if event.time is not None]
    reading.last_time = max(times, default=None)
    return reading


def day_of(written: date, name: str, head: Head, tail: Sequence[Segment], since: int = 0) -> date | None:
    """The first date that the log states, for times without one: at its beginning, else near its end. Of the end only
    the lines from position `since` on are looked at."""
    if (day := head.day(written)) is not None:
        return day
    if not any(TIME.search(segment.units, max(0, since - segment.offset)) for segment in tail):
        return None
    last = takewhile(lambda found: found[1] >= since, islice(_backwards(name, tail), HEAD_LINES))
    return stated_day((source.text for source, _ in last), written)


@dataclass(slots=True)
class Seen:
    """What the labels of the lines say, all hits of a file together."""

    hosts: set[str] = field(default_factory=set)
    locals: set[int] = field(default_factory=set)
    labels: bool = False

    def note(self, hits: Iterable[Hit]) -> Seen:
        for hit in hits:
            self.labels = self.labels or bool(hit.prefix.label)
            if hit.prefix.host:
                self.hosts.add(hit.prefix.host)
            if hit.prefix.local_rank is not None:
                self.locals.add(hit.prefix.local_rank)
        return self


class Placer:
    """Makes events of hits. A line's own label counts most, then the path, then what the file says elsewhere."""

    def __init__(
        self,
        reading: FileReading,
        lines: Lines,
        seen: Seen,
        head: Head,
        rank: int | None,
        alone: bool,
        run: str,
        one_node: bool,
    ) -> None:
        self._run, self._one_node = run, one_node
        self._reading = reading
        self._lines = lines
        hosts, locals_ = seen.hosts, seen.locals
        reading.rank = reading.place.rank
        # In the one log of a whole job a single named rank is not the rank of all other lines.
        if reading.rank is None and not alone:
            ranks = {known for known, _ in lines.ranks.values()} or head.ranks
            reading.rank = next(iter(ranks)) if len(ranks) == 1 else None if ranks else rank
        reading.host = next(iter(hosts)) if len(hosts) == 1 else None if hosts else reading.place.host
        self._seen, self._head = seen, head
        self._local = next(iter(locals_)) if len(locals_) == 1 else None if locals_ else reading.place.local_rank

    @property
    def context(self) -> tuple[object, ...]:
        """What of the whole file decides on the place of a single line."""
        known = tuple(sorted(self._lines.local_ranks.items()))
        return (
            self._reading.rank,
            self._reading.host,
            self._local,
            self._run,
            self._one_node,
            self._lines.style,
            known,
        )

    def event(self, hit: Hit, clock: Clock) -> Event:
        fields: dict[str, Value] = {}
        context: tuple[Source, ...] = ()
        if hit.spec is not None:
            fields = typed(hit.groups, hit.spec.fields)
            if hit.spec.symptom is not Symptom.NONE:
                fields["symptom"] = hit.spec.symptom.value
            if hit.spec.follows:
                fields["follows"] = True
        elif hit.traceback is not None:
            fields = fields_of(hit.traceback)
        if hit.raised is not None:
            fields |= {"traceback": hit.raised.text, "own_frame": hit.raised.own.removesuffix(": ")}
            context = hit.raised.context
        return self._placed(
            hit.spec.name if hit.spec else TRACEBACK,
            hit.source,
            hit.prefix,
            fields,
            clock,
            hit.step,
            hit.phase,
            hit.position,
            context,
        )

    def _placed(
        self,
        name: str,
        source: Source,
        prefix: Prefix,
        fields: Mapping[str, Value],
        clock: Clock,
        step: int | None,
        phase: str,
        position: int,
        context: tuple[Source, ...] = (),
    ) -> Event:
        local = prefix.local_rank if prefix.local_rank is not None else _whole(fields.get("local_rank"))
        return Event(
            name=name,
            source=source,
            fields=fields,
            rank=self._rank(prefix, fields),
            host=prefix.host or self._reading.host,
            local_rank=local if local is not None else self._local,
            time=clock.read(source.text[len(prefix.label) :] if prefix.label else source.text),
            step=step,
            phase=phase,
            run=self._run,
            order=position,
            context=context,
        )

    def _rank(self, prefix: Prefix, fields: Mapping[str, Value]) -> int | None:
        if prefix.rank is not None:
            return prefix.rank
        if self._reading.place.rank is not None:
            return self._reading.place.rank
        if prefix.pid is not None and (known := self._lines.ranks.get((prefix.host, prefix.pid))):
            return known[0]
        stated = _whole(fields.get("rank"))
        pid = _whole(fields.get("pid"))
        if stated is None and pid is not None and (known := self._lines.ranks.get((prefix.host, pid))):
            stated = known[0]
        if stated is None:
            stated = rank_in(prefix.body)
        if stated is None and self._reading.rank is None:
            told = _whole(fields.get("local_rank")) if "local_rank" in fields else failed_in(prefix.body)
            local = prefix.local_rank if prefix.local_rank is not None else told
            if local is not None:
                return local if self._one_node else self._lines.local_ranks.get(local)
        return stated if stated is not None else self._reading.rank

    def last_lines(self, tail: Sequence[Segment], clock: Clock, last: Hit | None) -> list[Event]:
        """One event for the file, or for each rank whose label is found near its end."""
        step, phase = (last.step, last.phase) if last else (None, "start")
        found: dict[int | str, Event] = {}
        spare: Event | None = None
        mixed = self._seen.labels or self._head.labelled
        for source, position in _backwards(self._reading.name, tail):
            prefix = split(source.text, self._lines.style)
            rank = self._rank(prefix, {})
            key = prefix.label.strip() if rank is None else rank
            if not prefix.body.strip() or key in found:
                continue
            noise = is_noise(prefix.body)
            if noise and spare is not None:
                continue
            event = self._placed(LAST_LINE, source, prefix, {"text": prefix.body}, clock, step, phase, position)
            if noise:
                spare = event
                continue
            found[key] = event
            if not mixed or self._reading.place.rank is not None:
                break
        return list(found.values()) or ([spare] if spare else [])


def _backwards(name: str, tail: Sequence[Segment]) -> Iterator[tuple[Source, int]]:
    """The last lines of a file from its end, each with its number and position."""
    seen = 0
    for segment in reversed(tail):
        line = segment.line_at(len(segment.data))
        end = len(segment.units)
        while end > 0 and seen < TAIL_LINES:
            start = segment.units.rfind(b"\n", 0, end) + 1
            if start < end:
                yield Source("log", name, line, text_of(segment.units[start:end][:4096])), segment.offset + start
                seen += 1
            if start and segment.data[start - 1 : start] == b"\n":
                line -= 1
            end = start - 1


def _whole(value: Value | None) -> int | None:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str) and value.isdigit() and len(value) < 9:
        return int(value)
    return None
