"""Turns candidate positions in segments into confirmed occurrences, in the order of the file."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter

from doctor.facts.model import EventSpec, Source
from probes.files.log.hit import Hit
from probes.files.log.keep import Kept
from probes.files.log.matcher import Matcher
from probes.files.log.patterns import Patterns
from probes.files.log.prefix import Prefix, Style, split
from probes.files.log.repeats import Repeats
from probes.files.log.report import FAILED, Report, begun
from probes.files.log.segments import LINE, Segment, text_of
from probes.files.log.tracebacks import Traceback, Tracebacks

TEXT = 4096
SAMPLE = 16
BULK = 500
"""After so many occurrences in a file, only each SAMPLE-th segment that holds nothing else is read for them."""

TAIL = 1 << 14
START = 1 << 20
PLACES = 8
THINNED = 8
"""Occurrences of a bulk message that are read in one segment."""

COMM = re.compile(r"comm 0x[0-9a-f]+ rank (\d+) nranks (\d+)")
GROUP = re.compile(r"\bip=([\w.:-]+), pid=(\d+)\) world_rank=(\d+), local_rank=")
"""Ray Train's list of the workers that it started."""
WORLD = 1 << 31
"""More ranks than any communicator has: a rank in the world is told by no other."""
TRACEBACK = "python.traceback"
_position = itemgetter(1)


@dataclass(slots=True)
class Lines:
    """What is found in one file while its segments go by."""

    name: str
    patterns: Patterns
    matcher: Matcher
    telling: Matcher
    bulk: int = BULK
    style: Style = Style.NONE
    share: float = 1.0
    kept: dict[str, Kept[Hit]] = field(default_factory=dict)
    fresh: list[Hit] | None = None
    """Every hit since it was emptied, for who reads along; None where nobody does."""
    ranks: dict[tuple[str | None, int], tuple[int, int]] = field(default_factory=dict)
    local_ranks: dict[int, int] = field(default_factory=dict)
    """Ranks by local rank, where the launcher of one node tells both."""
    _tracebacks: Tracebacks = field(default_factory=Tracebacks)
    _repeats: Repeats = field(default_factory=Repeats)
    _repeated: int = 0
    _counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _bulk: set[int] = field(default_factory=set)
    _skipped: dict[int, Segment] = field(default_factory=dict)
    _missed: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _searched: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _thinned_out: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _report: Report | None = None
    """The part of torchrun's summary that is being read, and `_told` the ranks of its lines by position."""
    _told: dict[int, int] = field(default_factory=dict)
    _step: int | None = None
    _phase: str = "start"
    _unsure: Segment | None = None

    @property
    def open(self) -> bool:
        """Is a traceback being read?"""
        return bool(self._tracebacks)

    @property
    def complete(self) -> bool:
        """Have all open tracebacks their last line?"""
        return self._tracebacks.complete

    @property
    def _whole(self) -> bool:
        """Is every line to be looked at, as what it is depends on those before?"""
        return bool(self._tracebacks) or self._report is not None

    def fork(self) -> Lines:
        """A copy that reads on by itself."""
        return replace(
            self,
            kept={name: kept.copy() for name, kept in self.kept.items()},
            fresh=None,
            ranks=dict(self.ranks),
            local_ranks=dict(self.local_ranks),
            _tracebacks=copy.deepcopy(self._tracebacks),
            _repeats=copy.deepcopy(self._repeats),
            _counts=self._counts.copy(),
            _bulk=set(self._bulk),
            _skipped=dict(self._skipped),
            _missed=self._missed.copy(),
            _searched=self._searched.copy(),
            _thinned_out=self._thinned_out.copy(),
            _told=self._told.copy(),
        )

    def feed(self, segment: Segment) -> None:
        """Read a segment. One that holds bulk messages only is skipped, but stays at hand until the next is read."""
        found = self._found(segment) if segment.number else None
        if found is None or self._whole or not self._bulk.issuperset(found):
            if found or found is None or self._whole:
                self.catch_up()
                self._read(segment, found)
            return
        for index in found:
            self._missed[index] += len(segment.data)
            self._skipped[index] = segment
        if found and segment.number % SAMPLE == 0:
            self.catch_up()

    def _found(self, segment: Segment) -> Collection[int]:
        """The patterns in a segment; vague ones only at the start of a file, in places, and around other messages."""
        self._unsure = None
        if self.telling is not self.matcher and segment.offset >= START and segment.number % PLACES:
            found = self.telling.which(segment.units)
            if self._bulk.issuperset(found):
                self._unsure = segment
                return found
        return self.matcher.which(segment.units)

    def finish(self) -> None:
        """Read what was put off, and close open tracebacks."""
        if (last := self._unsure) and not self._bulk.issuperset(found := self.matcher.which(last.units)):
            for index in [index for index, segment in self._skipped.items() if segment is last]:
                self._missed[index] -= len(last.data)
                del self._skipped[index]
            self.catch_up()
            self._read(last, found)
        self.catch_up()
        for traceback in self._tracebacks.finish():
            self._keep_traceback(traceback)

    def counts(self) -> dict[str, int]:
        """Occurrences of each event; of bulk messages, as many as the parts that were read let expect."""
        missed: dict[str, int] = defaultdict(int)
        for index, size in self._missed.items():
            if spec := self.patterns.specs[index]:
                expected = round(size * self._counts[index] / max(1, self._searched[index]))
                missed[spec.name] = max(missed[spec.name], expected)
        for index, thinned in self._thinned_out.items():
            if spec := self.patterns.specs[index]:
                missed[spec.name] += thinned
        counts = {name: kept.count + missed[name] for name, kept in self.kept.items()}
        if self._repeated:
            counts[TRACEBACK] = self._counts[self.patterns.built_in[0]]
        return counts

    def catch_up(self) -> None:
        """The end of the last segment with each bulk message is read before anything else: steps and last words stay
        exact."""
        waiting: dict[int, tuple[Segment, set[int]]] = {}
        for index, segment in self._skipped.items():
            waiting.setdefault(segment.number, (segment, set()))[1].add(index)
        self._skipped = {}
        for _, (segment, found) in sorted(waiting.items()):
            tail = segment.tail(TAIL)
            hits = [*self.matcher.scan(tail.units, found)]
            if len(tail.data) < len(segment.data) and not found.issubset(index for index, _ in hits):
                tail, hits = segment, [*self.matcher.scan(segment.units, found)]
            for index in found:
                self._missed[index] -= len(tail.data)
            self._take(tail, hits)

    def _read(self, segment: Segment, found: Collection[int] | None) -> None:
        self._take(segment, self.matcher.scan(segment.units, found))

    def _take(self, segment: Segment, hits: Iterable[tuple[int, int]]) -> None:
        by_unit: dict[int, set[int]] = defaultdict(set)
        units = segment.units
        start = end = -1
        for index, position in sorted(hits, key=_position):
            if not start < position <= end:
                start, end = segment.unit(position - 1)
            by_unit[start].add(index)
        for index in set(chain.from_iterable(by_unit.values())):
            self._searched[index] += len(segment.data)
        header, frame, *_ = self.patterns.built_in
        headers = [start for start, found in by_unit.items() if header in found]
        frames = [start for start, found in by_unit.items() if frame in found]
        passed = self._repeats.passed(units, headers, frames) if headers else {}
        repeated = sum(passed.values())
        chosen = [s for s in self._thinned(by_unit) if s not in passed or not by_unit[s].issubset((header, frame))]
        line, counted = segment.line, 0
        for start, end in self._visited(segment, chosen):
            line += segment.data.count(b"\n", counted, start)
            counted = start
            candidates = by_unit.get(start, set())
            if start in passed:
                for traceback in self._tracebacks.ended(self._repeats.full):
                    self._keep_traceback(traceback)
                if not self._tracebacks:
                    candidates = candidates.difference((header, frame))
                elif passed[start]:
                    repeated -= 1
            self._unit(units[start : min(end, start + LINE)], line, segment.offset + start, candidates)
        self._counts[header] += repeated
        self._repeated += repeated
        self._bulk.update(i for i, n in self._counts.items() if n >= self.patterns.limit(i, self.bulk))

    def _thinned(self, by_unit: Mapping[int, set[int]]) -> list[int]:
        """The units to read. Of those that hold bulk messages only: some, the last, and the last before any other."""
        starts = sorted(by_unit)
        counts = self._counts.copy()
        limits = {i: self.patterns.limit(i, self.bulk) for i in set(chain.from_iterable(by_unit.values()))}
        dull = set()
        for start in starts:
            if all(counts[index] >= limits[index] for index in by_unit[start]):
                dull.add(start)
            for index in by_unit[start]:
                counts[index] += 1
        if len(dull) <= THINNED:
            return starts
        stride = len(dull) // THINNED + 1
        following = [*starts[1:], -1]
        chosen = [
            s
            for k, (s, after) in enumerate(zip(starts, following, strict=True))
            if s not in dull or k % stride == 0 or after not in dull
        ]
        for index in chain.from_iterable(by_unit[start] for start in dull.difference(chosen)):
            self._thinned_out[index] += 1
            self._counts[index] += 1
        return chosen

    def _visited(self, segment: Segment, starts: list[int]) -> Iterator[tuple[int, int]]:
        """The units to look at: those with candidates, and every one while a traceback or a summary is read."""
        size = len(segment.units)
        position, k = 0, 0
        while True:
            while k < len(starts) and starts[k] < position:
                k += 1
            if not self._whole:
                if k == len(starts):
                    return
                position = starts[k]
            if position >= size:
                return
            end = segment.units.find(b"\n", position)
            end = size if end < 0 else end
            # A carriage return before a line feed is no line of its own.
            if end > position or (
                segment.data[position : position + 1] == b"\n" and segment.data[position - 1 : position] != b"\r"
            ):
                yield position, end
            position = end + 1

    def _unit(self, unit: bytes, line: int, position: int, candidates: Iterable[int]) -> None:
        found: dict[str, tuple[EventSpec, dict[str, bytes | None]]] = {}
        built_in = False
        for index in sorted(candidates):
            groups = self.patterns.search(index, unit)
            if groups is None:
                continue
            self._counts[index] += 1
            spec = self.patterns.specs[index]
            if spec is None:
                built_in = True
            elif spec.name in found:
                before = found[spec.name][1]
                before.update({k: v for k, v in groups.items() if before.get(k) is None})
            else:
                found[spec.name] = (spec, groups)
        if not found and not built_in and not self._whole:
            return
        text = text_of(unit[:TEXT])
        prefix = self._of_report(split(text, self.style), position)
        source = Source("log", self.name, line, text)
        raised = None
        if built_in or self._tracebacks:
            self._note_rank(prefix)
            for traceback in self._tracebacks.feed(prefix.label.strip(), prefix.body, source, position, not found):
                self._keep_traceback(traceback)
            raised = self._tracebacks.belongs(prefix.label.strip())
        for spec, groups in found.values():
            if spec.phase:
                self._phase = spec.phase
            hit = Hit(spec, groups, source, prefix, position, self._step, self._phase, raised)
            self._keep(spec.name, hit, prefix.rank)
            if groups.get("step") is not None:
                self._step = _step(groups["step"], self._step)

    def _of_report(self, prefix: Prefix, position: int) -> Prefix:
        """The line, with the rank that torchrun's summary tells it of."""
        self._report = begun(prefix) or (self._report and self._report.after(prefix))
        if self._report is None or not self._report.tells_of(prefix):
            return prefix
        self._told[position] = self._report.rank
        return replace(prefix, rank=self._report.rank)

    def _note_rank(self, prefix: Prefix) -> None:
        if prefix.pid is not None and (match := COMM.search(prefix.body, 0, 400)):
            rank, size = int(match[1]), int(match[2])
            key = (prefix.host, prefix.pid)
            # Of several communicators the largest is the world.
            if size > self.ranks.get(key, (0, 0))[1]:
                self.ranks[key] = (rank, size)
        if match := GROUP.search(prefix.body, 0, 400):
            # Workers on the node of the driver are labelled without their address.
            for host in (None, match[1]):
                self.ranks[host, int(match[2])] = (int(match[3]), WORLD)
        if match := FAILED.search(prefix.body, 0, 400):
            self.local_ranks[int(match[2])] = int(match[1])

    def _keep_traceback(self, traceback: Traceback) -> None:
        raised = traceback.current
        if raised.final is None and not raised.frames and traceback.cause is not None:
            raised = traceback.cause
        source = raised.final or (raised.sources[-1] if raised.sources else None)
        if source is None:
            return
        prefix = split(source.text, self.style)
        if prefix.rank is None and (told := self._told.get(raised.position)) is not None:
            prefix = replace(prefix, rank=told)
        if self._report is None:
            self._told.clear()
        hit = Hit(None, {}, source, prefix, raised.position, self._step, self._phase, raised, traceback)
        self._keep(TRACEBACK, hit, (prefix.rank, raised.exception))

    def _keep(self, name: str, hit: Hit, key: Hashable) -> None:
        if name not in self.kept:
            self.kept[name] = Kept(self.share)
        self.kept[name].add(hit, key)
        if self.fresh is not None:
            self.fresh.append(hit)


def _step(raw: bytes | None, before: int | None) -> int | None:
    try:
        return int((raw or b"").replace(b",", b""))
    except ValueError:
        return before
