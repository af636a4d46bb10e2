"""What a collective carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.communication.transfer import Group, Hides, Primitive, Transfer


def transfer(primitive: Primitive, ranks: int, payload: float = 1e9, calls: float = 1) -> Transfer:
    return Transfer(
        group=Group.DP, primitive=primitive, ranks=ranks, payload=payload, calls=calls, hides=Hides.NOTHING, why=""
    )


@pytest.mark.parametrize(
    ("primitive", "ranks", "wire"),
    [
        (Primitive.ALL_REDUCE, 8, 1.75e9),
        (Primitive.REDUCE_SCATTER, 8, 0.875e9),
        (Primitive.ALL_GATHER, 8, 0.875e9),
        (Primitive.ALL_TO_ALL, 8, 0.875e9),
        (Primitive.SEND_RECV, 2, 1e9),
        (Primitive.ALL_REDUCE, 1, 0.0),
    ],
)
def test_bytes_a_rank_sends(primitive: Primitive, ranks: int, wire: float) -> None:
    assert transfer(primitive, ranks).wire == pytest.approx(wire)


@given(st.integers(1, 4096))
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(ranks: int) -> None:
    both = transfer(Primitive.REDUCE_SCATTER, ranks).wire + transfer(Primitive.ALL_GATHER, ranks).wire
    assert transfer(Primitive.ALL_REDUCE, ranks).wire == pytest.approx(both)


@given(st.integers(2, 4096))
def test_an_all_to_all_carries_half_of_an_all_reduce(ranks: int) -> None:
    assert 2 * transfer(Primitive.ALL_TO_ALL, ranks).wire == pytest.approx(transfer(Primitive.ALL_REDUCE, ranks).wire)
