"""Statistics that a few wild values do not move: scale, slope, and a test for a lasting change of level."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median

from doctor.facts.model import Source

TO_SIGMA = 1.4826
"""Median absolute deviation of a normal distribution to its standard deviation (Rousseeuw and Croux 1993)."""
REFERENCE = 32
"""Values that tell what was usual. A median of 32 normal values errs by 1.25 sigma / sqrt(32), a fifth of sigma."""
RECENT = 16
"""Values whose median tells what is now; it errs by a third of sigma."""
SURE = 2.0
"""Sigmas that the two medians must lie apart, which is five times what their difference errs by."""
CLIP = 4.0
"""Sigmas that one value may count for: a checkpoint or a garbage collection is one wild value, no change of level."""
SLACK, DECISION = 1.0, 8.0
"""Page's cumulative sum (Biometrika 41, 1954) with reference value 1 and decision interval 8, in sigmas: the average
run to a false alarm is (exp(2kb) - 2kb - 1) / 2k^2 with b = h + 1.166 (Siegmund 1985), some 45 million values."""
LEAST_SCALE = 0.01
"""Least sigma as a share of the level: times are printed with three or four digits."""


def spread(values: Sequence[float], middle: float | None = None) -> float:
    """Standard deviation as the median absolute deviation tells it; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    centre = median(values) if middle is None else middle
    return TO_SIGMA * median(abs(value - centre) for value in values)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Median of the slopes of all pairs of points (Theil 1950, Sen 1968): 29 % of the points may be wild."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] != a[0]]
    return median(slopes) if slopes else 0.0


def concordance(points: Sequence[tuple[float, float]]) -> float:
    """Kendall's tau of the values with their order: 1 for values that only rise (Mann 1945); ties count as neither."""
    pairs = list(combinations(points, 2))
    signs = sum((b[1] > a[1]) - (b[1] < a[1]) for a, b in pairs)
    return signs / len(pairs) if pairs else 0.0


@dataclass(slots=True)
class Shift:
    """Has the level of a series changed to the worse for good? `rises` says which way is worse.

    The first values after `skip` are the reference; later ones, each clipped, are summed up by Page's test. A change
    counts from `least` on, as a ratio that is above 1 for worse, and only while the median of the last values shows it.
    """

    least: float
    rises: bool = True
    skip: int = 2
    count: int = 0
    score: float = 0.0
    middle: float = 0.0
    """Median of the reference, and `scale` its sigma, as soon as it is whole."""
    scale: float = 0.0
    onset: Source | None = None
    last: Source | None = None
    usual: Source | None = None
    reference: list[float] = field(default_factory=list)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    def see(self, value: float, source: Source) -> None:
        self.count += 1
        if self.count <= self.skip:
            return
        if len(self.reference) < REFERENCE:
            self.reference.append(value)
            self.usual = source
            if len(self.reference) == REFERENCE:
                self.middle = median(self.reference)
                self.scale = max(spread(self.reference, self.middle), LEAST_SCALE * abs(self.middle))
            return
        self.last = source
        self.recent.append(value)
        away = (value - self.middle) / self.scale if self.scale > 0 else 0.0
        away = max(-CLIP, min(CLIP, away if self.rises else -away))
        if self.score <= 0:
            self.onset = source
        # What went on for long must not take as long to be over.
        self.score = min(max(0.0, self.score + away - SLACK), 4 * DECISION)

    @property
    def seen(self) -> float | None:
        """The median of all values that are kept, however few; None before the first that counts."""
        values = [*self.reference, *self.recent]
        return median(values) if values else None

    @property
    def now(self) -> float | None:
        """The median of the last values; before there are any beyond the reference, that of the reference."""
        values = self.recent or self.reference
        return median(values) if values else None

    @property
    def ratio(self) -> float | None:
        """How much worse it has become, when it has: at least `least`."""
        if len(self.recent) < RECENT or self.score < DECISION or self.middle <= 0:
            return None
        now = median(self.recent)
        if abs(now - self.middle) < SURE * self.scale:
            return None
        worse = now / self.middle if self.rises else self.middle / now if now > 0 else float("inf")
        return worse if worse >= self.least else None

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(dict.fromkeys(source for source in (self.usual, self.onset, self.last) if source is not None))
