"""Transfers of parameters and gradients."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.planner.communication.states import state_transfers
from doctor.planner.communication.transfer import Group, Primitive
from doctor.planner.job import Sharding, Stack
from doctor.planner.parameters import RankParameters
from tests.planner.support import job

BILLION = RankParameters(layers=1e9, experts=0.0, embedding=0.0, head=0.0)


def wire(sharding: Sharding, global_batch: int = 64, **changes: Any) -> float:
    """B a rank sends in a step for a billion parameters on 64 ranks, over (n-1)/n, with gradients in bf16."""
    one = job("llama3-8b", sharding=sharding, grad_bytes=2, global_batch=global_batch, **changes)
    return sum(transfer.wire for transfer in state_transfers(one, BILLION)) * 64 / 63


def test_sharding_the_optimizer_costs_nothing_more_than_plain_data_parallelism() -> None:
    assert wire(Sharding.NONE) == pytest.approx(2 * 2e9)
    assert wire(Sharding.OPTIMIZER) == pytest.approx(2 * 2e9)


def test_sharding_parameters_costs_half_as_much_again() -> None:
    assert wire(Sharding.FULL) == pytest.approx(1.5 * wire(Sharding.NONE))


def test_accumulation_makes_deeply_sharded_states_travel_every_micro_batch() -> None:
    assert wire(Sharding.NONE, 512) == wire(Sharding.NONE, 64)
    assert wire(Sharding.FULL, 512) == pytest.approx(8 * wire(Sharding.FULL, 64))
    assert wire(Sharding.GRADIENTS, 512, stack=Stack.DEEPSPEED) == pytest.approx((8 + 1) * 2e9)


def test_fp32_gradients_are_twice_the_bytes() -> None:
    one = job("llama3-8b", sharding=Sharding.OPTIMIZER)
    (scatter, gather) = state_transfers(one, BILLION)
    assert (scatter.payload, gather.payload) == (4e9, 2e9)


def test_experts_are_reduced_over_their_own_replicas() -> None:
    parameters = RankParameters(layers=1e9, experts=4e9, embedding=0.0, head=0.0)
    one = job("mixtral-8x7b", 64, ep=8, sharding=Sharding.OPTIMIZER)
    groups = {transfer.group: transfer.ranks for transfer in state_transfers(one, parameters)}
    assert groups == {Group.DP: 64, Group.EDP: 8}
    alone = job("mixtral-8x7b", 8, ep=8, sharding=Sharding.OPTIMIZER)
    assert {transfer.group for transfer in state_transfers(alone, parameters)} == {Group.DP}


def test_one_replica_has_nothing_to_reduce() -> None:
    assert not list(state_transfers(job(tp=8, pp=8), BILLION))


def test_adapters_leave_only_the_parameters_to_gather() -> None:
    one = job("llama3-8b", sharding=Sharding.FULL, lora_rank=16)
    assert {t.primitive for t in state_transfers(one, BILLION) if t.payload} == {Primitive.ALL_GATHER}
