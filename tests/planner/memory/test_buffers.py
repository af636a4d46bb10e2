"""Buffers beside states and activations."""

from __future__ import annotations

from doctor.planner.job import Precision, Sharding, Stack
from doctor.planner.memory.buffers import WORKSPACE, buffers
from doctor.planner.parameters import rank_parameters
from doctor.planner.stages import stages
from tests.planner.support import job, replace


def held_by(**changes: object) -> float:
    plan = job(gpus=8, **changes)
    return buffers(plan, stages(plan)[0], rank_parameters(plan, stages(plan)[0])) - WORKSPACE


def test_a_stand_in_gradient_for_each_shape_of_a_matrix() -> None:
    """Llama-2 70B: query with key and value, output, gate with value, down, head; 16 bit each."""
    matrices = 8192 * (64 + 16) * 128 + 8192 * 8192 + 3 * 8192 * 28672 + 32000 * 8192
    assert held_by() == 2 * matrices
    assert held_by(fused_grads=False) == 0


def test_one_expert_stands_in_for_all() -> None:
    dense = 2 * 4096 * 4096 + 2 * 4096 * 8 * 128 + 32000 * 4096
    assert held_by(name="mixtral-8x7b", ep=8) == 2 * (dense + 3 * 4096 * 14336)


def test_sequence_parallelism_gathers_into_one_buffer() -> None:
    plan = held_by(tp=8, sp=True) - held_by(tp=8)
    assert plan == 2 * 4096 * 8192


def test_zero_3_of_deepspeed_has_its_buckets_and_live_parameters() -> None:
    assert held_by(stack=Stack.DEEPSPEED, sharding=Sharding.FULL) == 4 * 5e8 + 2 * 1e9
    assert held_by(stack=Stack.DEEPSPEED, sharding=Sharding.OPTIMIZER) == 4 * 5e8


def test_fp8_copies_of_weights_are_kept_unless_the_weights_are_fp8() -> None:
    layers = rank_parameters(job(gpus=8), stages(job(gpus=8))[0]).layers
    assert held_by(precision=Precision.FP8) == held_by() + 2 * layers
    assert held_by(precision=Precision.FP8, fp8_parameters=True) == held_by()


def test_what_fsdp_gathers_is_not_here_all_the_time() -> None:
    plan = job(gpus=8, stack=Stack.FSDP, sharding=Sharding.FULL)
    for one in (plan, replace(plan, recompute_layers=1)):
        assert buffers(one, stages(one)[0], rank_parameters(one, stages(one)[0])) == WORKSPACE
