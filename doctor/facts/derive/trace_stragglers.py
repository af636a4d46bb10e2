"""Ranks that the others wait for, and what they are late with; a rank that waits itself is never blamed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = (
    *("trace.late_share", "trace.late_time", "trace.same_compute_ratio", "trace.idle_host_share"),
    *("trace.data_share", "trace.compute_us", "trace.gc_share", "trace.late_time_share"),
)
GIVES = ("trace.straggler_reason",)

MOSTLY = 0.5
"""A straggler comes last to more than half of the collectives; with chance alone, ranks take turns."""
SLOWER, MORE = 1.07, 1.1
"""Clocks of equal GPUs under one power limit differ by a few percent (Sinha et al., Not All GPUs Are Created Equal,
SC22), so seven percent more time for the same kernels is told; and ten percent more computation altogether."""
COSTS = 0.03
"""Share of the recording that the others wait for a straggler: below it, it is last and costs next to nothing."""
SOMETIMES, DEAR, BLAMED = 0.2, 0.1, 0.8
"""Nor need it be last to most: a rank with more tokens than the others is late to the one exchange after its experts,
and on time for the others. Then nearly all that is waited for is waited for it, and it is a good part of the time."""
LATER = 0.08
"""Share of the span by which its host, or its data loader, keeps the device waiting longer than the others' do."""


REASONS = (("trace.data_share", "data"), ("trace.gc_share", "gc"), ("trace.idle_host_share", "host"))


def derive(store: FactStore) -> Iterator[Fact]:
    lost = {fact.entity: float(str(fact.value)) for fact in store.every("trace.late_time")}
    for fact in store.every("trace.late_share"):
        rank, cost = fact.entity, store.get("trace.late_time_share", fact.entity)
        if not isinstance(fact.value, int | float) or not rank.startswith("rank:"):
            continue
        if cost is None:
            if fact.value <= MOSTLY:
                continue
        elif not _holds_up(float(fact.value), float(str(cost.value)), lost.get(rank, 0.0), sum(lost.values())):
            continue
        reason, proof = _reason(store, rank)
        because = (fact.source, *proof)
        yield Fact("trace.straggler_reason", reason, rank, Source("derived"), None, Quality.DERIVED, because)


def _holds_up(late: float, cost: float, lost: float, of_all: float) -> bool:
    """Is a rank that is last to the share `late` of the collectives the one that the others wait for?"""
    if late > MOSTLY:
        return cost >= COSTS
    return late > SOMETIMES and cost > DEAR and lost > BLAMED * of_all


def _reason(store: FactStore, rank: str) -> tuple[str, tuple[Source, ...]]:
    slower = store.get("trace.same_compute_ratio", rank)
    if slower is not None and float(str(slower.value)) > SLOWER:
        return "device", (slower.source,)
    for name, reason in REASONS:
        own, others = _compared(store, name, rank)
        if own is not None and float(str(own.value)) > others + LATER:
            return reason, (own.source,)
    own, others = _compared(store, "trace.compute_us", rank)
    if own is not None and others > 0 and float(str(own.value)) > MORE * others:
        return "more_work", (own.source,)
    return "unknown", ()


def _compared(store: FactStore, name: str, rank: str) -> tuple[Fact | None, float]:
    """The fact of `rank`, and the median of the other ranks."""
    ranks = [fact for fact in store.every(name) if fact.entity.startswith("rank:")]
    own = next((fact for fact in ranks if fact.entity == rank), None)
    others = [float(str(fact.value)) for fact in ranks if fact.entity != rank]
    return own, median(others) if others else 0.0
