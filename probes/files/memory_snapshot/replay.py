"""The history of a device run again: how much was held when, by whom, and what was free for use at an error.

A block that is given back or still alive but was never asked for within the history was there before it. Sizes are
those that the program asked for; the allocator rounds them up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from probes.files.memory_snapshot.model import GROWS, OLDER, SHRINKS, Device, Entry, Origin, Origins
from probes.files.memory_snapshot.sites import emptied

SAMPLES = 64
PHASES = 8


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds how much at one moment."""

    total: int
    by_category: dict[str, int]
    by_site: dict[Origin, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that could not be served: its size, what the device had free, what was held and what was reserved."""

    requested: int
    device_free: int
    holding: Holding
    reserved: int
    site: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What was held at a time, in microseconds since the first entry."""

    time: int
    total: int
    by_category: dict[str, int]


@dataclass(slots=True)
class Course:
    """What the history of a device says."""

    peak: Holding
    end: Holding
    failures: list[Failure] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    lows: list[int] = field(default_factory=list)
    growth: dict[Origin, list[int]] = field(default_factory=dict)
    older: int = 0
    cut: bool = False
    retries: int = 0
    span: int = 0


def run(device: Device, origins: Origins) -> Course:
    """Goes over the history twice: first for how much was held when, then for who held it."""
    entries = device.entries
    closing = "free_completed" if any(e.action == "free_completed" for e in entries) else "free_requested"
    alive = {b.address: b for segment in device.segments for b in segment.blocks if b.alive}
    born, last = set[int](), dict[int, bool]()
    older: dict[int, tuple[int, Origin]] = {}
    for entry in entries:
        if entry.action == "alloc":
            born.add(entry.address)
            last[entry.address] = True
        elif entry.action == closing:
            if entry.address not in last:
                older[entry.address] = (entry.size, OLDER)
            last[entry.address] = False
    recorded = False
    for address, block in alive.items():
        if address not in last and address not in older:
            recorded = recorded or bool(block.frames)
            older[address] = (block.used, origins.of(block.frames) if block.frames else OLDER)
    replay = _Replay(closing, older, origins)
    start = sum(size for size, _ in older.values())
    peak_at, most, total, sizes = -1, start, start, {a: s for a, (s, _) in older.items()}
    for place, entry in enumerate(entries):
        total += _change(entry, closing, sizes)
        if total > most:
            peak_at, most = place, total
    course = replay.course(entries, peak_at)
    course.older, course.cut = start, recorded and bool(entries)
    course.retries = sum(1 for _ in _retries(entries))
    reserved = _reserved(device, entries)
    course.failures = [
        Failure(
            entries[place].size, entries[place].free, holding, reserved[place], origins.of(entries[place].frames).site
        )
        for place, holding in replay.failures
    ]
    return course


def _change(entry: Entry, closing: str, sizes: dict[int, int]) -> int:
    if entry.action == "alloc":
        before = sizes.get(entry.address, 0)
        sizes[entry.address] = entry.size
        return entry.size - before
    return -sizes.pop(entry.address, 0) if entry.action == closing else 0


class _Replay:
    """Who holds what while the history goes by."""

    def __init__(self, closing: str, older: dict[int, tuple[int, Origin]], origins: Origins) -> None:
        self.closing, self.origins = closing, origins
        self.held: dict[int, tuple[int, Origin, int]] = {a: (size, origin, -1) for a, (size, origin) in older.items()}
        self.failures: list[tuple[int, Holding]] = []

    def holding(self) -> Holding:
        by_category, by_site = Counter[str](), Counter[Origin]()
        for size, origin, _ in self.held.values():
            by_category[origin.category] += size
            by_site[origin] += size
        return Holding(by_category.total(), dict(by_category), dict(by_site))

    def course(self, entries: list[Entry], peak_at: int) -> Course:
        at_peak = self.holding() if peak_at < 0 else None
        by_category = Counter[str]()
        for size, origin, _ in self.held.values():
            by_category[origin.category] += size
        total = by_category.total()
        count = max(len(entries), 1)
        samples: list[Sample] = []
        lows = [1 << 62] * PHASES
        first = entries[0].time if entries else 0
        best: tuple[int, int, dict[str, int]] = (-1, 0, {})
        for place, entry in enumerate(entries):
            if entry.action == "alloc" or entry.action == self.closing:
                if (gone := self.held.pop(entry.address, None)) is not None:
                    by_category[gone[1].category] -= gone[0]
                    total -= gone[0]
                if entry.action == "alloc":
                    origin = self.origins.of(entry.frames)
                    self.held[entry.address] = (entry.size, origin, place * PHASES // count)
                    by_category[origin.category] += entry.size
                    total += entry.size
            elif entry.action == "oom" and len(self.failures) < SAMPLES:
                self.failures.append((place, self.holding()))
            if place == peak_at:
                at_peak = self.holding()
            phase = place * PHASES // count
            lows[phase] = min(lows[phase], total)
            if total > best[0]:
                best = (total, entry.time, dict(by_category))
            if place * SAMPLES // count != (place + 1) * SAMPLES // count:
                # of each part the highest moment is drawn: peaks must not fall between the samples
                samples.append(Sample(max(best[1] - first, 0), *(best[0], {k: v for k, v in best[2].items() if v})))
                best = (-1, 0, {})
        end = self.holding()
        span = max(entries[-1].time - first, 0) if entries else 0
        return Course(
            at_peak or end, end, [], samples, lows if len(entries) >= PHASES else [], self._growth(), span=span
        )

    def _growth(self) -> dict[Origin, list[int]]:
        """Bytes still held at the end, by who asked for them and the phase in which that was."""
        found: dict[Origin, list[int]] = {}
        for size, origin, phase in self.held.values():
            if phase >= 0:
                found.setdefault(origin, [0] * PHASES)[phase] += size
        return found


def _retries(entries: list[Entry]) -> Iterator[int]:
    """Times that the allocator gave its cache back on its own and then asked the driver again."""
    freed = False
    for place, entry in enumerate(entries):
        if entry.action in SHRINKS:
            freed = freed or not (entry.frames and emptied(entry.frames))
        elif freed and entry.action in (*GROWS, "oom"):
            yield place
            freed = False
        elif entry.action == "alloc":
            freed = False


def _reserved(device: Device, entries: list[Entry]) -> list[int]:
    """Bytes reserved at each entry, counted back from the end."""
    now = sum(segment.size for segment in device.segments)
    found = [0] * len(entries)
    for place in range(len(entries) - 1, -1, -1):
        entry = entries[place]
        found[place] = max(now, 0)
        now += entry.size * ((entry.action in SHRINKS) - (entry.action in GROWS))
    return found
