from __future__ import annotations

import pytest

from doctor.facts.derive.card import derive
from doctor.facts.model import Fact, Source
from tests.support import event, store

FILE = Source("file", "dump.txt", 1)


def memory(*known: object) -> list[float]:
    return [fact.value for fact in derive(store(*known))]  # type: ignore[misc,arg-type]


def test_what_was_measured_goes_before_the_name() -> None:
    measured = Fact("gpu.memory_total", 85 * 10**9, "gpu:n1/0", FILE)
    assert memory(Fact("config.gpu_model", "A100 40GB", "job", FILE), measured) == [85e9]


def test_an_out_of_memory_line_tells_the_capacity() -> None:
    assert memory(event("gpu.capacity", capacity=80.0 * 2**30)) == [80 * 2**30]


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB", "H100 80 GB"])
def test_the_name_of_a_card_may_hold_its_memory(name: str) -> None:
    assert memory(Fact("gpu.name", name, "gpu:n1/0", FILE)) == [80 * 2**30]


@pytest.mark.parametrize("name", ["NVIDIA H100 NVL", "GB200", "Tesla"])
def test_a_name_without_a_size_tells_nothing(name: str) -> None:
    assert memory(Fact("gpu.name", name, "gpu:n1/0", FILE)) == []
