"""Moments at which memory may be highest."""

from __future__ import annotations

from doctor.planner.job import Job, Sharding, Stack
from doctor.planner.memory.moments import Load, Moment, moments
from doctor.planner.parameters import rank_parameters
from doctor.planner.stages import stages
from tests.planner.support import job, replace

LOAD = Load(activations=100e9, layer=1e9, backward=2e9, logits=3e9, gradients=8e9)


def of(plan: Job, load: Load = LOAD) -> dict[str, Moment]:
    chunks = stages(plan)[0]
    return {moment.name: moment for moment in moments(plan, chunks, rank_parameters(plan, chunks), load)}


def test_megatron_peaks_at_the_loss_or_behind_it() -> None:
    found = of(job(gpus=8))
    assert found["loss"].total == 111e9
    assert found["backward"].total == 110e9


def test_fsdp_lets_gradients_go_between_steps_unless_they_add_up() -> None:
    plan = job(gpus=8, stack=Stack.FSDP, sharding=Sharding.FULL, global_batch=8)
    assert of(plan)["loss"].gradients == 0
    assert of(replace(plan, global_batch=16))["loss"].gradients == 8e9
    assert of(plan)["end"].gradients == 8e9


def test_a_block_at_work_holds_ten_bytes_a_parameter() -> None:
    """Two blocks gathered, the gradient in 16 bit, and the last block's in fp32 on its way."""
    plan = job(gpus=8, stack=Stack.FSDP, sharding=Sharding.FULL, global_batch=8)
    block = 2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192
    ends = 2 * 2 * 32000 * 8192 + 2 * 32000 * 8192
    assert of(plan)["second block's gradient"].gathered == ends + 10 * block


def test_zero_2_keeps_all_blocks_gathered() -> None:
    plan = job(gpus=8, stack=Stack.FSDP, sharding=Sharding.GRADIENTS, global_batch=8)
    held = rank_parameters(plan, stages(plan)[0])
    assert of(plan)["loss"].gathered == 2 * held.total
    piped = job(gpus=8, pp=2, stack=Stack.FSDP, sharding=Sharding.GRADIENTS, global_batch=8)
    assert of(piped)["loss"].gathered == (2 + 4) * rank_parameters(piped, stages(piped)[0]).total
