"""Micro-batches in flight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.job import Schedule
from doctor.planner.memory.in_flight import in_flight
from tests.planner.support import job


@pytest.mark.parametrize(
    ("schedule", "stage", "expected"),
    [
        (Schedule.GPIPE, 0, (64,)),
        (Schedule.ONE_F_ONE_B, 0, (4,)),
        (Schedule.ONE_F_ONE_B, 3, (1,)),
        (Schedule.ZB_H1, 1, (3,)),
        (Schedule.DUALPIPE, 0, (4, 1)),
        (Schedule.ZB_V, 0, (8, 1)),
        (Schedule.ZB_V, 3, (5, 3)),
    ],
)
def test_schedules_hold_what_their_papers_say(schedule: Schedule, stage: int, expected: tuple[float, ...]) -> None:
    assert in_flight(job(gpus=4, pp=4, global_batch=64, schedule=schedule), stage) == expected


def test_interleaving_holds_more_on_the_first_rank() -> None:
    """p = 4, v = 5: 2*3 + 4*4 + 1 = 23 passes of a fifth of the rank's layers."""
    plan = job(gpus=4, pp=4, vpp=5, global_batch=64, schedule=Schedule.INTERLEAVED)
    assert in_flight(plan, 0) == (7, 4, 4, 4, 4)
    assert sum(in_flight(plan, 3)) == 17


def test_without_a_pipeline_there_is_one() -> None:
    assert in_flight(job(gpus=8), 0) == (1,)


@given(
    pp=st.sampled_from([2, 4, 8]),
    vpp=st.integers(1, 4),
    m=st.sampled_from([1, 2, 4, 8, 64]),
    schedule=st.sampled_from(list(Schedule)),
)
def test_no_rank_holds_more_than_there_is_nor_more_than_the_one_before(
    pp: int, vpp: int, m: int, schedule: Schedule
) -> None:
    plan = job(gpus=8, pp=pp, vpp=vpp, global_batch=8 // pp * m, schedule=schedule)
    held = [in_flight(plan, stage) for stage in range(pp)]
    assert all(0 <= count <= m for rank in held for count in rank)
    if schedule is not Schedule.DUALPIPE:
        assert sorted((sum(rank) for rank in held), reverse=True) == [sum(rank) for rank in held]
