"""Intervals on a line in whole nanoseconds: their union, and how long one kind runs without another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from probes.files.trace.columns import Ints

EMPTY: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Spans:
    """Disjoint intervals in order."""

    starts: Ints = field(default_factory=lambda: EMPTY)
    ends: Ints = field(default_factory=lambda: EMPTY)

    @property
    def total(self) -> int:
        return int((self.ends - self.starts).sum())

    def within(self, start: int, end: int) -> Spans:
        """The parts that lie between `start` and `end`."""
        low, high = np.searchsorted(self.ends, start, "right"), np.searchsorted(self.starts, end, "left")
        return Spans(np.maximum(self.starts[low:high], start), np.minimum(self.ends[low:high], end))

    def gaps(self) -> Spans:
        """What lies between the intervals."""
        return Spans(self.ends[:-1], self.starts[1:])


def union(starts: Ints, ends: Ints) -> Spans:
    """The union of any intervals, in O(n log n)."""
    if not len(starts):
        return Spans()
    if not bool(np.all(starts[1:] >= starts[:-1])):
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        del order
    reach = np.maximum.accumulate(ends)
    fresh = np.empty(len(starts), dtype=bool)
    fresh[0] = True
    np.greater(starts[1:], reach[:-1], out=fresh[1:])
    first = np.flatnonzero(fresh)
    return Spans(starts[first], reach[np.append(first[1:], len(starts)) - 1])


def merged(*spans: Spans) -> Spans:
    """The union of unions."""
    spans = tuple(one for one in spans if len(one.starts)) or (Spans(),)
    if len(spans) == 1:
        return spans[0]
    return union(np.concatenate([s.starts for s in spans]), np.concatenate([s.ends for s in spans]))


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Where the time of a device went, in ns. Communication is exposed where no computation runs beside it, memory
    traffic where neither does; so busy = compute + exposed communication + exposed memory."""

    span: int = 0
    busy: int = 0
    compute: int = 0
    comm: int = 0
    exposed_comm: int = 0
    exposed_memory: int = 0

    @property
    def idle(self) -> int:
        return self.span - self.busy

    @property
    def overlap(self) -> int:
        return self.comm - self.exposed_comm


@dataclass(frozen=True, slots=True)
class Timeline:
    """Computation, communication and memory traffic of a device, and their unions."""

    compute: Spans
    comm: Spans
    both: Spans
    busy: Spans

    def breakdown(self, start: int | None = None, end: int | None = None) -> Breakdown:
        """Of the whole, from the first to the last work, or of a window."""
        if start is None or end is None:
            if not len(self.busy.starts):
                return Breakdown()
            start, end = int(self.busy.starts[0]), int(self.busy.ends[-1])
            parts = (self.compute, self.comm, self.both, self.busy)
        else:
            compute, comm = self.compute.within(start, end), self.comm.within(start, end)
            parts = (compute, comm, self.both.within(start, end), self.busy.within(start, end))
        compute_, comm_, both, busy = (part.total for part in parts)
        return Breakdown(end - start, busy, compute_, comm_, both - compute_, busy - both)


def timeline(compute: Spans, comm: Spans, memory: Spans) -> Timeline:
    both = merged(compute, comm)
    return Timeline(compute, comm, both, merged(both, memory))
