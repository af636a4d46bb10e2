"""Reads a log that still grows: bytes as they come, events at once, and at any time what the whole says so far.

In the end it gives what `read_file` gives of the same bytes, except for the sampling of very frequent messages.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Sequence
from datetime import date
from operator import attrgetter

from doctor.facts.model import Event, Symptom
from probes.files.log.clock import Clock
from probes.files.log.head import HEAD_BYTES, HEAD_LINES, Head
from probes.files.log.hit import Hit, Made
from probes.files.log.lines import BULK, Lines
from probes.files.log.matcher import Matcher
from probes.files.log.patterns import Patterns
from probes.files.log.place import place
from probes.files.log.prefix import Style
from probes.files.log.reader import EPOCH, FileReading, Placer, Seen, day_of
from probes.files.log.segments import SEGMENT, Cutter, Segment, segments
from probes.files.stream import CHUNK, chunks, error_file

COMPLETE = 0.4
"""Seconds after which the message of a traceback is taken as whole, though no other line has followed."""

HALF = 1.5
"""Seconds after which a line without an end, or a traceback without its last line, is taken as it stands."""

DULL = 1.0
"""Seconds between two looks at a stream of nothing but very frequent messages."""

ERROR_FILE = b'{"message"'

_position = attrgetter("position")


class Growing:
    """One log. `rank`, `alone`, `bulk`, `run` and `one_node` are as for `read_file` and may change while it grows, as
    other files appear; `share` is the part of the usual room that its events and its last lines take; `written`
    completes times without a date."""

    def __init__(
        self, name: str, patterns: Patterns, matcher: Matcher, *, bulk: int = BULK, share: float = 1.0
    ) -> None:
        self.name = name
        self.rank: int | None = None
        self.alone, self.run, self.written, self.one_node = True, "job", EPOCH, False
        self.size = self._passed = 0
        self._patterns, self._matcher, self._bulk, self._share = patterns, matcher, bulk, share
        self._cutter = Cutter()
        self._lines = self._new(Style.NONE)
        self._place = place(name)
        self._seen = Seen()
        self._head = Head()
        self._held: bytes | None = b""
        """The beginning, as long as it is too short to tell the labels by; None afterwards."""
        self._tail: deque[Segment] = deque(maxlen=2)
        self._tail_size = max(1 << 13, round(SEGMENT * share))
        self._raw: bytes | None = b""
        """The first bytes, until it is known that they are no error file of torchrun and in which encoding."""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._clock = Clock(EPOCH)
        self._undated = 0
        """The position up to which no date was found."""
        self._half_since = self._open_since = self._read_at = 0.0
        self._told = (-1.0, -1.0)
        self._looked_at, self._half_tells = -1.0, False
        self._context: object = None

    @property
    def lines(self) -> int:
        """Whole lines so far."""
        return self._passed + self._cutter.line - 1

    @property
    def position(self) -> int:
        """Bytes of text that were read as whole lines."""
        return self._cutter.offset

    def feed(self, data: bytes, at: float) -> list[Event]:
        """Take bytes that were read at `at`, in seconds; the events of the lines that they complete."""
        self.size += len(data)
        before = self._cutter.pending
        self._take(self._text(data, False), at)
        if self._cutter.pending != before:
            self._half_since = at
        return self._fresh()

    def ended(self, at: float) -> list[Event]:
        """The file was replaced or cut to nothing: what is pending is a whole line, and the next line is the first."""
        self._take(self._text(b"", True), at)
        half = bool(self._cutter.pending)
        for segment in self._cutter.rest():
            self._segment(segment, at)
        self._passed, self._cutter.line = self.lines + half, 1
        if self._tail:
            self._tail.append(Segment(b"", b"", self._cutter.offset, 1, 0))
        self._raw, self._decoder = b"", None
        return self._fresh()

    @property
    def pending(self) -> bool:
        """Is there a line without its end, or a traceback that may go on?"""
        return bool(self._cutter.pending) or self._lines.open

    def ripe(self, at: float) -> bool:
        """Has something that was not whole waited long enough to be told, and was not told yet?"""
        traceback = self._lines.open and self._due(at) and self._told[0] != self._open_since
        half = self._pending(at)
        # The last state of a progress bar is no half line.
        return traceback or (half is not None and b"\r" not in half and self._tells(half))

    def _tells(self, half: bytes) -> bool:
        """Does a half line that was not told yet show that something is amiss? Logs that are written in blocks end in
        half a line nearly always."""
        if self._told[1] != self._half_since and self._looked_at != self._half_since:
            self._looked_at = self._half_since
            specs = (self._patterns.specs[index] for index in self._matcher.which(half))
            self._half_tells = any(spec is None or spec.symptom is not Symptom.NONE for spec in specs)
        return self._told[1] != self._half_since and self._half_tells

    def waits(self, at: float) -> bool:
        """Is something read that `reading` will only tell later?"""
        return bool(self._pending(at) is None and self._cutter.pending) or (self._lines.open and not self._due(at))

    def reading(self, at: float | None = None) -> FileReading:
        """What the log says at `at`; of what is not whole yet, only what has waited long enough, and all if None."""
        self._lines.catch_up()
        rest = self._cutter.pending + (self._raw or b"") if at is None else self._pending(at) or b""
        lines, tail, head = self._lines, [*self._tail], self._head
        due = self._lines.open and (at is None or self._due(at))
        self._told = (self._open_since if due else self._told[0], self._half_since if rest else self._told[1])
        if self._held == b"" and rest:
            lines, tail, head = self._reread(rest)
        elif rest or due:
            lines = self._lines.fork()
            for segment in self._rest(rest):
                lines.feed(segment)
                tail.append(segment)
            lines.finish()
        return self._reading(lines, [part for part in tail if part.data][-2:], head)

    def _new(self, style: Style) -> Lines:
        return Lines(self.name, self._patterns, self._matcher, self._matcher, self._bulk, style, self._share, fresh=[])

    def _text(self, data: bytes, last: bool) -> bytes:
        """Text in UTF-8, as `probes.files.stream.chunks` gives it."""
        if self._raw is not None:
            raw = self._raw = self._raw + data
            if not last and (len(raw) < 4 or (ERROR_FILE.startswith(raw[: len(ERROR_FILE)]) and len(raw) <= CHUNK)):
                told = error_file(raw) if len(raw) > 4 else None
                if told is None:
                    return b""
                raw = told
            self._raw, data = None, raw
            for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
                if data.startswith(mark):
                    self._decoder, data = codecs.getincrementaldecoder(encoding)("replace"), data[2:]
            data = data.removeprefix(codecs.BOM_UTF8)
        if self._decoder is not None:
            data = self._decoder.decode(data, last).encode("utf-8", "replace")
        return data.replace(b"\0", b"") if b"\0" in data else data

    def _take(self, data: bytes, at: float) -> None:
        was_open = self._lines.open
        for segment in self._cutter.feed(data):
            self._segment(segment, at)
        if at - self._read_at >= DULL:
            self._lines.catch_up()
            self._read_at = at
        if not was_open:
            self._open_since = at

    def _segment(self, segment: Segment, at: float) -> None:
        if self._held is not None:
            self._held += segment.data
            head = Head(self._held.replace(b"\r", b"\n"))
            if head.style is not self._lines.style:
                self._lines = self._new(head.style)
                self._lines.feed(_first(self._held))
                fresh = self._lines.fresh or []
                self._seen.note(fresh)
                self._lines.fresh = [hit for hit in fresh if hit.position >= segment.offset]
            else:
                self._lines.feed(segment)
            self._head = head
            if len(head.lines) >= HEAD_LINES or len(self._held) >= HEAD_BYTES:
                self._held = None
        else:
            self._lines.feed(segment)
        last = self._tail[-1] if self._tail else None
        if last is not None and last.data and len(last.data) < self._tail_size:
            self._tail[-1] = Segment(
                last.data + segment.data, last.units + segment.units, last.offset, last.line, last.number
            )
        else:
            self._tail.append(segment)

    def _fresh(self) -> list[Event]:
        hits, self._lines.fresh = self._lines.fresh or [], []
        if not hits:
            return []
        self._seen.note(hits)
        if not self._clock.dated:
            self._clock = Clock(self._day(self._head, self._tail))
        placer = self._placer(FileReading(self.name, self.size, place=self._place), self._lines, self._head)
        return self._events(sorted(hits, key=_position), placer, self._clock, self._lines)

    def _pending(self, at: float) -> bytes | None:
        """The line that has no end yet, if it has waited long enough."""
        return self._cutter.pending if self._cutter.pending and at - self._half_since >= HALF else None

    def _due(self, at: float) -> bool:
        """May open tracebacks be taken as they stand?"""
        return at - self._open_since >= (COMPLETE if self._lines.complete else HALF)

    def _rest(self, rest: bytes) -> list[Segment]:
        cutter = Cutter()
        cutter.offset, cutter.line, cutter.pending = self._cutter.offset, self._cutter.line, rest
        # Its number says that it is not the first of the file.
        return [Segment(part.data, part.units, part.offset, part.line, 1) for part in cutter.rest()]

    def _reread(self, data: bytes) -> tuple[Lines, list[Segment], Head]:
        """All of it at once, where there is no whole line yet."""
        tail = [*segments(chunks(error_file(data) or data, lambda _: None) if self._raw else [data])]
        head = Head(tail[0].units if tail else b"")
        lines = self._new(head.style)
        for segment in tail:
            lines.feed(segment)
        lines.finish()
        return lines, tail, head

    def _day(self, head: Head, tail: Sequence[Segment]) -> date:
        day = day_of(self.written, self.name, head, tail, self._undated)
        if day is None:
            self._undated = self._cutter.offset
        return day or self.written

    def _placer(self, reading: FileReading, lines: Lines, head: Head) -> Placer:
        return Placer(reading, lines, self._seen, head, self.rank, self.alone, self.run, self.one_node)

    def _reading(self, lines: Lines, tail: list[Segment], head: Head) -> FileReading:
        reading = FileReading(self.name, self.size, place=self._place)
        hits = sorted((hit for kept in lines.kept.values() for hit in kept), key=_position)
        if lines is not self._lines:
            self._seen.note(hits)
        placer = self._placer(reading, lines, head)
        clock = Clock(self._day(head, tail))
        reading.first_time = head.time(clock.day)
        reading.events = self._events(hits, placer, clock, lines)
        reading.events += placer.last_lines(tail, clock, hits[-1] if hits else None)
        reading.counts = lines.counts()
        if tail:
            reading.lines = tail[-1].line_at(len(tail[-1].data)) - (tail[-1].data[-1:] in b"\n")
        reading.last_time = max((event.time for event in reading.events if event.time is not None), default=None)
        return reading

    def _events(self, hits: Sequence[Hit], placer: Placer, clock: Clock, lines: Lines) -> list[Event]:
        """The events of the hits; those made before are taken again where nothing has changed what they say."""
        if self._context != (placer.context, lines.ranks):
            self._context = (placer.context, dict(lines.ranks))
        context = self._context
        events = []
        state = clock.state
        for hit in hits:
            made = hit.made
            if made is None or made.context is not context or (made.before is not None and made.before != state):
                clock.state = state
                event = placer.event(hit, clock)
                alone = event.time is None or clock.whole
                after = None if event.time is None else clock.state
                made = hit.made = Made(event, context, None if alone else state, after)
            if made.after is not None:
                state = made.after
            events.append(made.event)
        clock.state = state
        return events


def _first(data: bytes) -> Segment:
    return Segment(data, data.replace(b"\r", b"\n"), 0, 1, 0)
