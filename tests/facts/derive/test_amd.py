from __future__ import annotations

from doctor.facts.derive.amd import derive
from doctor.facts.model import Fact, Source
from doctor.facts.store import FactStore


def missing(*peers: int) -> list[object]:
    facts = [Fact("gpu.xgmi_peers", n, f"gpu:n1/{i}", Source("dump", "x", i + 1)) for i, n in enumerate(peers)]
    return [fact.value for fact in derive(FactStore(facts))]


def test_a_gpu_with_fewer_neighbours_than_the_others() -> None:
    assert missing(7, 7, 6, 7) == [0, 0, 1, 0]


def test_cards_without_xgmi_miss_nothing() -> None:
    assert missing(0, 0) == [0, 0] and missing() == []
