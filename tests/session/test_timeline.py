from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from doctor.planner.bubble import bubble
from doctor.planner.job import Job, Schedule
from doctor.planner.layout import Layout
from doctor.session.timeline import Timeline, timeline_of
from tests.planner.support import cluster
from tests.planner.support import job as known


def of(schedule: Schedule, p: int, m: int, v: int = 1) -> Timeline | None:
    return timeline_of(job(schedule, p, m, v))


def job(schedule: Schedule, p: int, m: int, v: int = 1) -> Job:
    return replace(
        known("llama2-70b", 64),
        cluster=cluster(p),
        layout=Layout(pp=p, vpp=v),
        schedule=schedule,
        micro_batch=1,
        global_batch=m,
    )


@pytest.mark.parametrize(
    ("schedule", "p", "m", "v"),
    [
        (Schedule.GPIPE, 4, 8, 1),
        (Schedule.ONE_F_ONE_B, 4, 8, 1),
        (Schedule.ONE_F_ONE_B, 8, 3, 1),
        (Schedule.INTERLEAVED, 4, 8, 2),
        (Schedule.INTERLEAVED, 2, 4, 4),
    ],
)
def test_the_idle_share_is_the_bubble_that_the_papers_give(schedule: Schedule, p: int, m: int, v: int) -> None:
    found = of(schedule, p, m, v)
    assert found is not None
    for row in found.stages:
        assert sum(each.length for each in row) == pytest.approx(3 * m)
        assert 1 - 3 * m / found.whole == pytest.approx(bubble(schedule, p, m, v))


def test_no_stage_does_two_things_at_once_and_none_starts_before_it_can() -> None:
    found = of(Schedule.ONE_F_ONE_B, 4, 6)
    assert found is not None
    forward = [{each.micro_batch: each for each in row if each.kind == "F"} for row in found.stages]
    for row in found.stages:
        assert all(a.start + a.length <= b.start for a, b in itertools.pairwise(row))
    for before, after in itertools.pairwise(forward):
        assert all(before[i].start + before[i].length <= after[i].start for i in before)


def test_there_is_no_picture_without_a_pipeline_of_unknown_schedules_and_of_huge_ones() -> None:
    assert of(Schedule.ONE_F_ONE_B, 1, 8) is None
    assert of(Schedule.DUALPIPE, 4, 8) is None
    assert of(Schedule.ONE_F_ONE_B, 64, 4096) is None
