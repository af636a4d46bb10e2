"""The pipeline bubble."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.bubble import bubble, micro_batches_for
from doctor.planner.job import Schedule

STAGES = st.integers(2, 64)
MICRO = st.integers(1, 512)


@pytest.mark.parametrize(
    ("schedule", "p", "m", "v", "share"),
    [
        (Schedule.GPIPE, 4, 8, 1, 3 / 11),
        (Schedule.ONE_F_ONE_B, 4, 8, 1, 3 / 11),
        (Schedule.ONE_F_ONE_B, 4, 16, 1, 3 / 19),
        (Schedule.ONE_F_ONE_B, 4, 256, 1, 3 / 259),
        (Schedule.INTERLEAVED, 4, 8, 2, 3 / 19),
        (Schedule.ZB_H1, 4, 8, 1, 3 / (24 + 3)),  # a third of the idle time of 1F1B
        (Schedule.ZB_V, 4, 8, 1, 0.0),
        (Schedule.DUALPIPE, 8, 20, 1, 6 / (60 + 6)),  # (8/2 - 1) * (3 + 2 - 3) of 20 * 3 + 6
        (Schedule.ONE_F_ONE_B, 1, 8, 1, 0.0),
    ],
)
def test_the_share_by_schedule(schedule: Schedule, p: int, m: int, v: int, share: float) -> None:
    assert bubble(schedule, p, m, v) == pytest.approx(share)


@given(STAGES, MICRO)
def test_it_falls_with_every_further_micro_batch(p: int, m: int) -> None:
    assert bubble(Schedule.ONE_F_ONE_B, p, m + 1) < bubble(Schedule.ONE_F_ONE_B, p, m)


@given(STAGES, MICRO, st.integers(2, 8))
def test_interleaving_and_splitting_the_backward_pass_never_make_it_larger(p: int, m: int, v: int) -> None:
    plain = bubble(Schedule.ONE_F_ONE_B, p, m)
    assert bubble(Schedule.INTERLEAVED, p, m, v) < plain
    assert bubble(Schedule.ZB_V, p, m) <= bubble(Schedule.ZB_H1, p, m) < plain


@given(STAGES, st.integers(1, 8), st.floats(0.01, 0.5))
def test_the_fewest_micro_batches_for_a_share_are_enough_and_one_less_is_not(p: int, v: int, share: float) -> None:
    m = micro_batches_for(p, v, share)
    schedule = Schedule.INTERLEAVED
    assert bubble(schedule, p, m, v) <= share
    assert m == 1 or bubble(schedule, p, m - 1, v) > share


def test_four_stages_need_27_micro_batches_for_ten_percent() -> None:
    assert micro_batches_for(4, 1, 0.10) == 27
