"""What is usual among measured pairs, and below what a pair is slow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]
Rates: TypeAlias = Mapping[Pair, Sequence[float]]

SLOW, SPREAD = 0.78, 2.5
"""A pair is slow below 0.78 of the usual rate, about half way (in logarithms) between full speed and 0.6 of it; where
healthy pairs spread widely, below 2.5 of their standard deviations. What both errors come to: docs/bench.md."""

NOISY = 0.15
"""Healthy pairs that spread more (standard deviation of the logarithm) say little about any single one."""

MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""

MEDIAN = 1.2533
"""Standard deviation of the median of n normal values over that of one, times the root of n (for large n)."""

REPEATS = 8


@dataclass(frozen=True, slots=True)
class Usual:
    """The rate of healthy pairs (B/s), the spread of what is judged (of the logarithm), and the rate below which it is
    slow."""

    rate: float
    spread: float
    limit: float

    def slow(self, rates: Sequence[float]) -> bool:
        return median(rates) < self.limit


def usual(rates: Iterable[float], of: int = 1) -> Usual:
    """What is usual among `rates`, of which just under three quarters may be slow; judged are medians of `of` rates.

    Starts from the upper quartile and then takes the median of what is not slow. The spread is that of the half above
    the median, since slow pairs lie below.
    """
    logs = sorted(math.log(max(rate, 1e-9)) for rate in rates)
    if not logs:
        return Usual(0.0, 0.0, 0.0)
    centre, cut, spread = logs[(3 * (len(logs) - 1) + 2) // 4], math.log(SLOW), 0.0
    for _ in range(REPEATS):
        healthy = [value for value in logs if value >= centre + cut]
        centre = median(healthy)
        spread = MAD * median([value - centre for value in healthy if value >= centre])
        spread *= MEDIAN / math.sqrt(of) if of > 1 else 1.0
        cut = min(math.log(SLOW), -SPREAD * spread)
    return Usual(math.exp(centre), spread, math.exp(centre + cut))
