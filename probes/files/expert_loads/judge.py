"""How even the loads are, layer by layer, with what chance alone would do."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from statistics import fmean, median

from doctor.facts.expert_load import by_chance, counted, drift, ratio, summed, trend
from probes.files.expert_loads.model import Loads

DEAD = 0.01
"""An expert with less than this of the mean is dead."""
DEAD_MEAN = 1000.0
"""Tokens an expert needs on average before so few can be told from chance."""
COLLAPSED = 0.5
"""Normalised entropy below which a layer sends its tokens to few experts only: half of ln E is the square root of E."""
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
    layers = tuple(_layer(name, summed([t for _, t in by_layer[name]])) for name in sorted(by_layer, key=_order))
    ratios = [(step, ratio(t), by_chance(t)) for rows in by_layer.values() for step, t in rows]
    steps = sorted({step for step, _, _ in ratios})
    parts = [rows for rows in by_layer.values() if len(rows) >= 3]
    return Judged(
        layers,
        len(steps) if steps != [-1] else 0,
        median(most for _, most, _ in ratios),
        median(chance for _, _, chance in ratios),
        fmean(most for _, most, _ in ratios) - 1,
        trend([(step, most) for step, most, _ in ratios], steps),
        max((drift(rows) for rows in parts), default=0.0),
    )


def _layer(name: str, tokens: list[float]) -> Layer:
    mean = fmean(tokens)
    whole = counted(tokens)
    dead = [e for e, value in enumerate(tokens) if value < DEAD * mean] if mean >= DEAD_MEAN or not whole else []
    shares = [value / sum(tokens) for value in tokens if value > 0]
    entropy = -sum(share * log(share) for share in shares) / log(len(tokens))
    return Layer(name, tuple(tokens), ratio(tokens), max(entropy, 0.0), by_chance(tokens), tuple(dead))


def _order(name: str) -> tuple[bool, int, str]:
    return (not name.isdigit(), int(name) if name.isdigit() else 0, name)
