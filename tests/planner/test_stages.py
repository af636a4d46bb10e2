"""Layers over pipeline ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.errors import PlanError
from doctor.planner.families import model
from doctor.planner.job import Schedule
from doctor.planner.layout import Layout
from doctor.planner.stages import split, stages
from tests.planner.support import job, replace


def test_interleaved_chunks_are_dealt_like_cards() -> None:
    held = stages(job(gpus=8, tp=2, pp=4, vpp=2, schedule=Schedule.INTERLEAVED))
    assert [chunk.first for chunk in held[1]] == [10, 50]
    assert held[0][0].embedding and held[3][1].head


def test_zb_v_puts_both_ends_of_the_model_on_rank_0() -> None:
    first = stages(job(gpus=4, pp=4, schedule=Schedule.ZB_V))[0]
    assert first[0].embedding and first[1].head
    assert [chunk.first for chunk in first] == [0, 70]


def test_dualpipe_holds_every_layer_twice() -> None:
    held = stages(job(gpus=4, pp=4, schedule=Schedule.DUALPIPE))
    assert sum(chunk.layers for rank in held for chunk in rank) == 160


def test_first_and_last_stage_may_be_set_by_hand() -> None:
    assert split(job(gpus=4, pp=4, first=18, last=18)) == (18, 22, 22, 18)


def test_ends_of_the_model_take_the_place_of_a_layer_where_that_divides() -> None:
    sizes = split(job("llama3-405b", gpus=128, tp=8, pp=16, vpp=8, schedule=Schedule.INTERLEAVED))
    assert sizes == (0, *(1,) * 126, 0)


def test_chunks_may_be_written_out() -> None:
    plan = job(gpus=4, pp=4)
    assert split(replace(plan, layout=replace(plan.layout, chunks=(17, 21, 21, 21)))) == (17, 21, 21, 21)
    with pytest.raises(PlanError, match="chunks hold 79 layers; the model has 80"):
        split(replace(plan, layout=replace(plan.layout, chunks=(16, 21, 21, 21))))
    with pytest.raises(PlanError, match="chunks names 2 parts; pp 4 x vpp 1 needs 4"):
        Layout(pp=4, chunks=(40, 40))


def test_more_stages_than_layers_cannot_be() -> None:
    with pytest.raises(PlanError, match="12 layers do not fill pp 16 x vpp 1 = 16 chunks"):
        split(job(shape=model("gpt2"), gpus=16, pp=16))


@given(pp=st.sampled_from([1, 2, 4, 8, 16]), vpp=st.integers(1, 5), schedule=st.sampled_from(list(Schedule)))
def test_every_layer_has_its_place(pp: int, vpp: int, schedule: Schedule) -> None:
    held = stages(job(gpus=16, pp=pp, vpp=vpp, schedule=schedule))
    layers = [chunk.first + n for rank in held for chunk in rank for n in range(chunk.layers)]
    assert set(layers) == set(range(80))
