"""What the loads of experts mean for the ranks that hold them, and for the time of a step.

Experts lie in equal blocks in order on the ranks of an expert-parallel group (Megatron Core, token_dispatcher.py: local
expert indices; torchtitan, ExpertParallel: Shard(0)). An expert layer lasts as long as its busiest rank, so the layers
take greatest over mean times what an even load would need.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("experts.heat", "config.ep", "config.moe_capacity_factor")
GIVES = ("experts.ep_max_over_mean", "experts.ep_excess", "experts.overflow_share")


def derive(store: FactStore) -> Iterator[Fact]:
    heat = store.get("experts.heat")
    if heat is None or not isinstance(heat.value, tuple):
        return
    rows = [row for text in heat.value if (row := _row(str(text)))]
    degree = store.get("config.ep")
    if degree is not None and isinstance(degree.value, int) and degree.value > 1:
        ratios = [_by_rank(row, degree.value) for row in rows if len(row) % degree.value == 0]
        if ratios:
            because = (heat.source, degree.source)
            for name, value in (("ep_max_over_mean", max(ratios)), ("ep_excess", fmean(ratios) - 1)):
                yield Fact(f"experts.{name}", value, "job", Source("derived"), None, Quality.DERIVED, because)
    factor = store.get("config.moe_capacity_factor")
    if factor is not None and isinstance(factor.value, int | float) and factor.value > 0 and rows:
        over = fmean(sum(max(load - factor.value, 0.0) for load in row) / len(row) for row in rows)
        because = (heat.source, factor.source)
        yield Fact("experts.overflow_share", over, "job", Source("derived"), None, Quality.DERIVED, because)


def _row(text: str) -> list[float]:
    """Tokens over the mean, of the experts of one layer."""
    return [float(part) for part in text.rpartition(":")[2].split()]


def _by_rank(row: list[float], degree: int) -> float:
    """Greatest load of a rank over the mean."""
    size = len(row) // degree
    sums = [sum(row[start : start + size]) for start in range(0, len(row), size)]
    return max(sums) / (sum(row) / degree)
