"""The peak of every stage."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.planner.families import model
from doctor.planner.job import Loss, Recompute, Schedule, Sharding, Stack
from doctor.planner.memory.breakdown import StageMemory, fits, memory
from tests.planner.support import job, replace

GIB = 2**30


def peak(**changes: Any) -> StageMemory:
    return max(memory(job(**changes)), key=lambda stage: stage.allocated)


@pytest.mark.parametrize(
    ("changes", "static", "kept", "whole"),
    [
        ({"tp": 8, "pp": 4, "sp": True}, 36.4, 10.5, 47.1),
        ({"tp": 8, "pp": 4, "sp": True, "sharding": Sharding.OPTIMIZER}, 24.3, 10.5, 35.0),
        ({"tp": 8, "pp": 8, "sp": True}, 18.5, 10.5, 29.2),
        ({"tp": 8, "sp": True, "sharding": Sharding.OPTIMIZER}, 60.2, 10.5, 71.0),
        ({"tp": 4, "pp": 4, "vpp": 5, "sp": True, "sharding": Sharding.OPTIMIZER, "schedule": Schedule.INTERLEAVED}, 36.4, 24.1, 60.8),
        ({"tp": 2, "pp": 8, "vpp": 5, "sp": True, "sharding": Sharding.OPTIMIZER, "schedule": Schedule.INTERLEAVED}, 37.0, 49.2, 86.6),
    ],
)  # fmt: skip
def test_a_70b_model_on_64_gpus(changes: dict[str, Any], static: float, kept: float, whole: float) -> None:
    """Llama-2 70B, sequences of 4096, on A100s: states, activations and peak in GiB, worked out by hand."""
    stage = peak(**changes)
    assert (stage.parameters + stage.gradients + stage.optimizer) / GIB == pytest.approx(static, rel=0.01)
    assert stage.activations / GIB == pytest.approx(kept, rel=0.02)
    assert stage.allocated / GIB == pytest.approx(whole, rel=0.03)


def test_what_fits_and_what_does_not() -> None:
    plan = job(tp=8, pp=4, sp=True, sharding=Sharding.OPTIMIZER)
    assert fits(plan) is True
    assert fits(job(tp=8, sp=True)) is False
    assert fits(job(tp=8, sp=True, sharding=Sharding.OPTIMIZER)) is None


def test_parts_add_up() -> None:
    for stage in memory(job("deepseek-v3", gpus=256, pp=16, ep=16, sharding=Sharding.OPTIMIZER)):
        assert stage.low < stage.device < stage.high
        assert stage.device == pytest.approx(stage.reserved + stage.context)
        assert stage.reserved == pytest.approx(stage.allocated + stage.reserve)


def test_the_last_stage_of_a_small_model_with_a_large_vocabulary_is_the_fullest() -> None:
    stages = memory(job("qwen2.5-0.5b", gpus=2, pp=2, micro_batch=4))
    assert stages[1].allocated > stages[0].allocated
    assert stages[1].logits > 0 == stages[0].logits


def test_offloaded_activations_leave_two_layers_on_the_gpu() -> None:
    plan = job("llama3-8b", gpus=8)
    near, far = (memory(replace(plan, offload_activations=one))[0].activations for one in (False, True))
    assert near / far == pytest.approx(32 / 2, rel=0.02)


def test_some_layers_may_be_recomputed() -> None:
    peaks = [
        peak(name="llama3-8b", gpus=8, recompute=Recompute.FULL, recompute_layers=n).activations for n in (0, 8, 32)
    ]
    assert peaks == sorted(peaks, reverse=True)
    assert peak(name="llama3-8b", gpus=8, recompute=Recompute.FULL).activations == peaks[2]


def test_chunked_loss_needs_hardly_any_logits() -> None:
    usual, chunked = (
        peak(name="llama3-8b", gpus=8, loss=loss, stack=Stack.FSDP) for loss in (Loss.EAGER, Loss.CHUNKED)
    )
    assert usual.logits == 8 * chunked.logits or chunked.logits == 0


SHARDINGS = (Sharding.NONE, Sharding.OPTIMIZER, Sharding.GRADIENTS, Sharding.FULL)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["llama3-8b", "llama2-70b", "qwen3-30b-a3b", "deepseek-v2-lite"]),
    stack=st.sampled_from([Stack.MEGATRON, Stack.DEEPSPEED]),
    tp=st.sampled_from([1, 2, 8]),
)
def test_more_sharding_never_needs_more_states(name: str, stack: Stack, tp: int) -> None:
    held = [memory(job(name, gpus=16, tp=tp, stack=stack, sharding=one))[0] for one in SHARDINGS]
    totals = [stage.parameters + stage.gradients + stage.optimizer for stage in held]
    assert totals == sorted(totals, reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["llama3-8b", "qwen3-30b-a3b", "deepseek-v2-lite", "gpt2"]),
    stack=st.sampled_from(list(Stack)),
    seq=st.sampled_from([512, 4096, 32768]),
    pp=st.sampled_from([1, 2]),
)
def test_more_recomputation_never_needs_more(name: str, stack: Stack, seq: int, pp: int) -> None:
    sharding = Sharding.FULL if stack in (Stack.FSDP, Stack.MEGATRON_FSDP) else Sharding.OPTIMIZER
    plan = job(name, gpus=8, pp=pp, stack=stack, seq=seq, sharding=sharding)
    peaks = [
        max(stage.allocated for stage in memory(replace(plan, recompute=one)))
        for one in (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
    ]
    assert peaks == sorted(peaks, reverse=True)


@given(degree=st.sampled_from(["tp", "cp", "pp"]), size=st.sampled_from([2, 4, 8]))
def test_cutting_the_model_or_the_sequence_further_never_needs_more(degree: str, size: int) -> None:
    shape = model("llama2-70b")
    cut = peak(shape=shape, gpus=64, sp=True, sharding=Sharding.OPTIMIZER, **{degree: size})
    less = peak(shape=shape, gpus=64, sp=True, sharding=Sharding.OPTIMIZER, **{degree: size // 2})
    assert cut.allocated <= less.allocated * 1.001
