"""Memory that creeps from step to step towards the limit."""

from __future__ import annotations

from dataclasses import dataclass, field

from doctor.facts.derive.memory_trend import SMALLEST_SHARE, straightness
from doctor.facts.model import Source
from doctor.facts.vitals.robust import concordance, slope

MOST = 48
"""Samples that are kept; when there are more, every other one is let go, so that they always span the whole run."""
FEWEST = 24
"""Samples from which growth is told: by chance 24 values have a tau of 0.6 less than once in 10,000 runs
(Kendall's tau has the variance 2(2n + 5) / 9n(n - 1)), and a straight line besides is rarer still."""
RISES = 0.6
LINEAR = 0.8
"""Least coefficient of determination of a straight line: caches that fill level off."""
GOES_ON = 0.75
"""The slope of the later half over that of the earlier one that growth must keep."""
WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Creep:
    """`per_step` bytes more in every step; `used` at the end, `gained` since the samples begin."""

    per_step: float
    used: float
    gained: float
    sources: tuple[Source, ...]


@dataclass(slots=True)
class Growth:
    """Samples of the memory in use, by step, thinned so that few stand for the whole run."""

    seen: int = 0
    every: int = 1
    points: list[tuple[float, float, Source]] = field(default_factory=list)
    last: tuple[float, float, Source] | None = None

    def see(self, step: float | None, used: float, source: Source) -> None:
        self.seen += 1
        at = float(self.seen) if step is None else step
        if self.last is not None and at < self.last[0]:
            # The run went back to a checkpoint or began again.
            self.points.clear()
            self.seen, self.every = 1, 1
        self.last = (at, used, source)
        if self.seen <= WARM_UP or self.seen % self.every:
            return
        self.points.append(self.last)
        if len(self.points) >= MOST:
            self.points = self.points[::2]
            self.every *= 2

    def creep(self) -> Creep | None:
        """The growth, when it goes on, in a straight line, and is more than noise."""
        if len(self.points) < FEWEST or self.last is None:
            return None
        points = [(step, used) for step, used, _ in self.points]
        first, last = points[0], points[-1]
        gained = last[1] - first[1]
        if first[1] <= 0 or gained <= SMALLEST_SHARE * first[1]:
            return None
        # What costs little to tell comes first: most logs show no growth.
        if straightness(points) < LINEAR or concordance(points) < RISES:
            return None
        half = len(points) // 2
        rate = slope(points)
        early, late = slope(points[:half]), slope(points[half:])
        if rate <= 0 or late < GOES_ON * early or late <= 0:
            return None
        return Creep(rate, self.last[1], gained, (self.points[0][2], self.last[2]))
