"""How even the tokens of experts are, and how that changes over the steps, beyond what chance alone does.

If tokens chose experts by chance, the busiest of E experts with a mean of m tokens would have about
m + sqrt(2 m ln E), and hardly ever more than three standard deviations, 3 sqrt(m), above that (the largest of E
binomial counts). What lies below is no imbalance, however few tokens were counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi, sqrt
from statistics import fmean, median

SIGMAS = 3.0
FEWEST_STEPS = 6


def ratio(tokens: Sequence[float]) -> float:
    """Greatest over mean."""
    return max(tokens) / fmean(tokens)


def counted(tokens: Sequence[float]) -> bool:
    """Tokens and not shares of them."""
    return sum(tokens) > 2.0 * len(tokens)


def by_chance(tokens: Sequence[float]) -> float:
    """The ratio that chance alone hardly exceeds; 1.0 of shares, of which nothing can be said."""
    if not counted(tokens):
        return 1.0
    return 1 + (sqrt(2 * log(len(tokens))) + SIGMAS) / sqrt(fmean(tokens))


def summed(rows: Sequence[Sequence[float]]) -> list[float]:
    """Tokens of each expert over all rows, of which some may know fewer experts."""
    total = [0.0] * max(map(len, rows))
    for row in rows:
        for place, value in enumerate(row):
            total[place] += value
    return total


def trend(ratios: Sequence[tuple[int, float]], steps: Sequence[int]) -> float:
    """Median of the last third of the steps over that of the first; 1.0 with fewer than six steps."""
    if len(steps) < FEWEST_STEPS:
        return 1.0
    third = len(steps) // 3
    first, last = set(steps[:third]), set(steps[-third:])
    early = median(ratio for step, ratio in ratios if step in first)
    return median(ratio for step, ratio in ratios if step in last) / early


def drift(rows: Sequence[tuple[int, Sequence[float]]]) -> float:
    """Half the sum of the differences of shares between first and last third (total variation), less what chance makes
    of it: at most sqrt(E (1/n + 1/m) / (2 pi)) on average for n and m tokens."""
    rows = sorted(rows, key=lambda row: row[0])
    third = max(len(rows) // 3, 1)
    early, late = summed([t for _, t in rows[:third]]), summed([t for _, t in rows[-third:]])
    many = max(len(early), len(late))
    early += [0.0] * (many - len(early))
    late += [0.0] * (many - len(late))
    before, after = sum(early), sum(late)
    if not before or not after:
        return 0.0
    apart = sum(abs(a / before - b / after) for a, b in zip(early, late, strict=True)) / 2
    chance = sqrt(many * (1 / before + 1 / after) / (2 * pi)) if counted(early) and counted(late) else 0.0
    return max(apart - 2 * chance, 0.0)
