"""Ranks that the others wait for, and what they are late with; a rank that waits itself is never blamed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = (
    *("trace.late_share", "trace.late_time", "trace.same_compute_ratio", "trace.idle_host_share"),
    *("trace.data_share", "trace.compute_us"),
)
GIVES = ("trace.straggler_reason",)

MOSTLY = 0.5
"""A straggler comes last to more than half of the collectives; with chance alone, ranks take turns."""
SLOWER, MORE = 1.07, 1.1
"""Clocks of equal GPUs under one power limit differ by a few percent (Sinha et al., Not All GPUs Are Created Equal,
SC22), so seven percent more time for the same kernels is told; and ten percent more computation altogether."""
LATER = 0.08
"""Share of the span by which its host, or its data loader, keeps the device waiting longer than the others' do."""


def derive(store: FactStore) -> Iterator[Fact]:
    for fact in store.every("trace.late_share"):
        if not isinstance(fact.value, int | float) or fact.value <= MOSTLY:
            continue
        rank = fact.entity
        reason, proof = _reason(store, rank)
        because = (fact.source, *proof)
        yield Fact("trace.straggler_reason", reason, rank, Source("derived"), None, Quality.DERIVED, because)


def _reason(store: FactStore, rank: str) -> tuple[str, tuple[Source, ...]]:
    slower = store.get("trace.same_compute_ratio", rank)
    if slower is not None and float(str(slower.value)) > SLOWER:
        return "device", (slower.source,)
    for name, reason in (("trace.data_share", "data"), ("trace.idle_host_share", "host")):
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
