"""Load of experts."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.errors import PlanError
from doctor.planner.moe import capacity, capped, dropped, entropy, imbalance

LOAD = [40, 20, 10, 10, 5, 5, 5, 5]  # 100 tokens on eight experts


def test_the_busiest_rank_sets_the_pace() -> None:
    assert imbalance(LOAD, 8) == pytest.approx(40 / 12.5)
    assert imbalance(LOAD, 4) == pytest.approx(60 / 25)
    assert imbalance(LOAD, 2) == pytest.approx(80 / 50)
    assert imbalance(LOAD, 1) == 1.0


def test_entropy_is_of_the_largest_possible() -> None:
    assert entropy([7] * 16) == pytest.approx(1.0)
    assert entropy([9, 0, 0, 0]) == 0.0
    assert entropy([1, 1, 0, 0]) == pytest.approx(log(2) / log(4))


def test_what_exceeds_the_capacity_is_dropped() -> None:
    """Factor 1: room for ceil(100/8) = 13 tokens an expert, so 27 and 7 are dropped; factor 2: room for 25, so 15."""
    assert dropped(LOAD, 1.0) == pytest.approx(0.34)
    assert dropped(LOAD, 2.0) == pytest.approx(0.15)
    assert dropped(LOAD, 4.0) == 0.0
    assert capacity(4096, 8, 128, 1.25) == 320
    assert (capped(3.2, 1.25), capped(1.1, 1.25)) == (1.25, 1.1)


@pytest.mark.parametrize(
    ("load", "ep", "words"),
    [
        ([], 1, "no expert"),
        ([0, 0], 1, "all experts"),
        ([1, -1], 1, "expert 1 is -1"),
        ([1, 2, 3], 2, "divide the 3"),
        ([1, float("nan")], 1, "expert 1"),
    ],
)
def test_nonsense_gets_one_line(load: list[float], ep: int, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        imbalance(load, ep)


@given(st.lists(st.integers(0, 10_000), min_size=16, max_size=16).filter(any))
def test_fewer_experts_a_rank_never_even_out_the_load(load: list[int]) -> None:
    factors = [imbalance(load, ep) for ep in (1, 2, 4, 8, 16)]
    assert factors == sorted(factors)
    assert 0 <= entropy(load) <= 1
    assert 0 <= dropped(load, 1.25) <= 1
