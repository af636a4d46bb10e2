"""Bytes of parameters, gradients and optimizer states."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.planner.job import Optimizer, Precision, Sharding, Stack
from doctor.planner.memory.states import states
from doctor.planner.parameters import RankParameters
from tests.planner.support import job

DENSE = RankParameters(layers=1e9, experts=0, embedding=0, head=0)


def bytes_a_parameter(**changes: Any) -> float:
    return states(job(gpus=8, **changes), DENSE).total / 1e9


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 18),
        ({"sharding": Sharding.OPTIMIZER}, 6 + 12 / 8),
        ({"precision": Precision.FP16, "grad_bytes": 2}, 20),
        ({"precision": Precision.FP16, "grad_bytes": 2, "sharding": Sharding.OPTIMIZER}, 4 + 16 / 8),
        ({"precision": Precision.FP32}, 16),
        ({"precision": Precision.FP32, "sharding": Sharding.OPTIMIZER}, 8 + 8 / 8),
    ],
)
def test_megatron_takes_what_its_guide_says(changes: dict[str, Any], expected: float) -> None:
    assert bytes_a_parameter(**changes) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sharding", "expected"),
    [
        (Sharding.NONE, 16),
        (Sharding.OPTIMIZER, 4 + 12 / 8),
        (Sharding.GRADIENTS, 2 + 14 / 8),
        (Sharding.FULL, 16 / 8),
    ],
)
def test_zero_takes_what_its_paper_says(sharding: Sharding, expected: float) -> None:
    assert bytes_a_parameter(stack=Stack.DEEPSPEED, sharding=sharding) == pytest.approx(expected)


def test_fsdp_shards_sixteen_bytes() -> None:
    assert bytes_a_parameter(stack=Stack.FSDP, sharding=Sharding.FULL) == pytest.approx(16 / 8)
    assert bytes_a_parameter(stack=Stack.FSDP, sharding=Sharding.FULL, shard=4) == pytest.approx(16 / 4)


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [(Optimizer.ADAM_8BIT, 18 - 8 + 2.03125), (Optimizer.SGD, 10), (Optimizer.SGD_MOMENTUM, 14), (Optimizer.MUON, 14)],
)
def test_other_optimizers_keep_less(optimizer: Optimizer, expected: float) -> None:
    assert bytes_a_parameter(optimizer=optimizer) == pytest.approx(expected)


def test_offloaded_states_are_not_on_the_gpu() -> None:
    assert bytes_a_parameter(offload_optimizer=True) == 6


def test_experts_are_sharded_over_their_replicas_only() -> None:
    held = RankParameters(layers=0, experts=1e9, embedding=0, head=0)
    plan = job("mixtral-8x7b", gpus=16, ep=8, sharding=Sharding.OPTIMIZER)
    assert states(plan, held).total / 1e9 == pytest.approx(6 + 12 / 2)


def test_lora_trains_little() -> None:
    plan = states(job(gpus=8, lora_rank=16), DENSE)
    assert plan.parameters == pytest.approx(2e9, rel=0.01)
    assert plan.optimizer + plan.gradients < 0.1e9
