"""Communication that nothing hides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.planner.communication.cost import seconds
from doctor.planner.communication.states import state_transfers
from doctor.planner.communication.transfer import Group
from doctor.planner.constants import FITTED
from doctor.planner.job import Job, Sharding, Stack
from doctor.planner.overlap import exposed
from doctor.planner.parameters import RankParameters, rank_parameters
from doctor.planner.stages import stages
from tests.planner.support import job


def held(one: Job) -> RankParameters:
    return rank_parameters(one, stages(one)[0])


def waits(one: Job, forward: float, backward: float, attention: float = 0.0) -> dict[Group, float]:
    return exposed(one, held(one), 1.0, attention, (forward, backward), FITTED)


def test_gradients_hide_behind_a_long_backward_pass_but_for_contention() -> None:
    one = job("llama3-8b", 64, tp=8)
    (transfer,) = state_transfers(one, held(one))
    whole = seconds(transfer, one.layout, one.cluster)
    assert waits(one, 1.0, 0.0)[Group.DP] == pytest.approx(whole)
    assert waits(one, 1.0, 2 * whole)[Group.DP] == pytest.approx(whole * FITTED.contention)


def test_ring_attention_hides_behind_attention_alone() -> None:
    one = job("llama3-8b", 64, cp=8, dp=8)
    assert waits(one, 100.0, 100.0)[Group.CP] > waits(one, 100.0, 100.0, attention=100.0)[Group.CP] > 0


def test_sequence_parallelism_of_megatron_overlaps_with_products() -> None:
    one = job(tp=8, pp=8, sp=True)
    assert waits(one, 1.0, 1.0)[Group.TP] < waits(replace(one, stack=Stack.FSDP), 1.0, 1.0)[Group.TP]


def test_roles_that_there_are_not_take_no_time() -> None:
    one = job("llama3-8b", 1, dp=1)
    assert set(waits(one, 1.0, 1.0).values()) == {0.0}


def test_parameters_that_are_gathered_each_pass_can_hide_behind_each_pass() -> None:
    one = job("llama3-8b", 64, sharding=Sharding.FULL, stack=Stack.FSDP)
    short, long = waits(one, 0.01, 0.02), waits(one, 10.0, 20.0)
    assert short[Group.DP] > long[Group.DP] > 0
