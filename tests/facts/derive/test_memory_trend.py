"""Memory that grows on one rank among several is told."""

from __future__ import annotations

from doctor.facts.derive.memory_trend import derive
from doctor.facts.store import FactStore
from tests.facts.vitals.jobs import event


def grows(*per_step: float) -> object:
    events = [
        event("memory.sample", n, f"rank{rank}.log", rank, at_step=n, allocated=20 + more * n, unit="GiB")
        for rank, more in enumerate(per_step)
        for n in range(1, 20)
    ]
    fact = FactStore(derive(FactStore([], events))).get("mem.grows")
    return None if fact is None else fact.value


def test_one_rank_of_four() -> None:
    assert grows(0.0, 0.0, 0.5, 0.0) is True


def test_no_rank() -> None:
    assert grows(0.0, 0.0, 0.0) is False
