"""Memory of a GPU that the allocator's snapshot does not account for."""

from __future__ import annotations

from doctor.facts.derive.snapshot import derive
from doctor.facts.model import Fact, Value
from doctor.facts.store import FactStore

GIB = 1 << 30
HELD = (Fact("snapshot.oom_device_free", GIB, "rank:3"), Fact("snapshot.oom_reserved", 60 * GIB, "rank:3"))


def outside(*more: Fact) -> list[tuple[Value, str]]:
    return [(fact.value, fact.entity) for fact in derive(FactStore([*HELD, *more]))]


def test_what_is_neither_reserved_nor_free_belongs_to_others() -> None:
    assert outside(Fact("oom.capacity", 80 * GIB)) == [(19 * GIB, "rank:3")]
    alike = [Fact("gpu.memory_total", 80 * GIB, f"gpu:n1/{index}") for index in range(2)]
    assert outside(*alike) == [(19 * GIB, "rank:3")]


def test_nothing_is_said_of_a_gpu_of_unknown_size() -> None:
    assert outside() == []
    assert outside(Fact("gpu.memory_total", 80 * GIB, "gpu:n1/0"), Fact("gpu.memory_total", 40 * GIB, "gpu:n1/1")) == []
    assert outside(Fact("oom.capacity", 50 * GIB)) == []
