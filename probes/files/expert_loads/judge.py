"""How even the loads are, layer by layer, with what chance alone would do.

If tokens chose experts by chance, the busiest of E experts with a mean of m tokens would have about
m + sqrt(2 m ln E), and hardly ever more than three standard deviations, 3 sqrt(m), above that (the largest of E
binomial counts). What lies below is no imbalance, however few tokens were counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi, sqrt
from statistics import fmean, median

from probes.files.expert_loads.model import Loads

DEAD = 0.01
"""An expert with less than this of the mean is dead."""
DEAD_MEAN = 1000.0
"""Tokens an expert needs on average before so few can be told from chance."""
COLLAPSED = 0.5
"""Normalised entropy below which a layer sends its tokens to few experts only: half of ln E is the square root of E."""
SIGMAS = 3.0
LEAST_UNEVEN = 1.1


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer over all steps. `by_chance` is the ratio that chance alone hardly exceeds; 1.0 where shares are given
    and not tokens, since nothing can be said of chance then."""

    name: str
    tokens: tuple[float, ...]
    ratio: float
    entropy: float
    by_chance: float
    dead: tuple[int, ...]

    @property
    def uneven(self) -> bool:
        return self.ratio > max(self.by_chance, LEAST_UNEVEN)

    @property
    def collapsed(self) -> bool:
        return len(self.tokens) >= 8 and self.entropy < COLLAPSED


@dataclass(frozen=True, slots=True)
class Judged:
    """All layers, and the course over the steps: `usual` is the median over steps and layers of greatest over mean,
    `mean_excess` the mean of that less one, `trend` the late over the early steps, `drift` the share of tokens that
    went elsewhere at the end than at the beginning, beyond chance."""

    layers: tuple[Layer, ...]
    steps: int
    usual: float
    usual_by_chance: float
    mean_excess: float
    trend: float
    drift: float


def judge(loads: Loads) -> Judged | None:
    """None when there is not one layer with tokens."""
    by_layer: dict[str, list[tuple[int, list[float]]]] = {}
    for (step, layer), tokens in loads.rows.items():
        if len(tokens) > 1 and sum(tokens) > 0:
            by_layer.setdefault(layer, []).append((step, tokens))
    if not by_layer:
        return None
    layers = tuple(_layer(name, _sum([t for _, t in by_layer[name]])) for name in sorted(by_layer, key=_order))
    ratios = [(step, _ratio(t), _by_chance(t)) for rows in by_layer.values() for step, t in rows]
    steps = sorted({step for step, _, _ in ratios})
    parts = [rows for rows in by_layer.values() if len(rows) >= 3]
    return Judged(
        layers,
        len(steps) if steps != [-1] else 0,
        median(ratio for _, ratio, _ in ratios),
        median(chance for _, _, chance in ratios),
        fmean(ratio for _, ratio, _ in ratios) - 1,
        _trend([(step, ratio) for step, ratio, _ in ratios], steps),
        max((_drift(rows) for rows in parts), default=0.0),
    )


def _layer(name: str, tokens: list[float]) -> Layer:
    mean = fmean(tokens)
    counted = _counted(tokens)
    dead = [e for e, value in enumerate(tokens) if value < DEAD * mean] if mean >= DEAD_MEAN or not counted else []
    shares = [value / sum(tokens) for value in tokens if value > 0]
    entropy = -sum(share * log(share) for share in shares) / log(len(tokens))
    return Layer(name, tuple(tokens), _ratio(tokens), max(entropy, 0.0), _by_chance(tokens), tuple(dead))


def _ratio(tokens: Sequence[float]) -> float:
    return max(tokens) / fmean(tokens)


def _counted(tokens: Sequence[float]) -> bool:
    """Tokens and not shares of them."""
    return sum(tokens) > 2.0 * len(tokens)


def _by_chance(tokens: Sequence[float]) -> float:
    if not _counted(tokens):
        return 1.0
    return 1 + (sqrt(2 * log(len(tokens))) + SIGMAS) / sqrt(fmean(tokens))


def _sum(rows: Sequence[Sequence[float]]) -> list[float]:
    total = [0.0] * max(map(len, rows))
    for row in rows:
        for place, value in enumerate(row):
            total[place] += value
    return total


def _trend(ratios: Sequence[tuple[int, float]], steps: Sequence[int]) -> float:
    """Median of the last third of the steps over that of the first; 1.0 with fewer than six steps."""
    if len(steps) < 6:
        return 1.0
    third = len(steps) // 3
    first, last = set(steps[:third]), set(steps[-third:])
    early = median(ratio for step, ratio in ratios if step in first)
    return median(ratio for step, ratio in ratios if step in last) / early


def _drift(rows: list[tuple[int, list[float]]]) -> float:
    """Half the sum of the differences of shares between first and last third (total variation), less what chance makes
    of it: at most sqrt(E (1/n + 1/m) / (2 pi)) on average for n and m tokens."""
    rows = sorted(rows, key=lambda row: row[0])
    third = max(len(rows) // 3, 1)
    early, late = _sum([t for _, t in rows[:third]]), _sum([t for _, t in rows[-third:]])
    many = max(len(early), len(late))
    early += [0.0] * (many - len(early))
    late += [0.0] * (many - len(late))
    before, after = sum(early), sum(late)
    apart = sum(abs(a / before - b / after) for a, b in zip(early, late, strict=True)) / 2
    chance = sqrt(many * (1 / before + 1 / after) / (2 * pi)) if _counted(early) and _counted(late) else 0.0
    return max(apart - 2 * chance, 0.0)


def _order(name: str) -> tuple[bool, int, str]:
    return (not name.isdigit(), int(name) if name.isdigit() else 0, name)
