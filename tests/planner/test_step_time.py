"""Step time: its parts, its range, and how it moves with the job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.planner.families import model
from doctor.planner.flops import hfu, mfu
from doctor.planner.job import Job, Precision, Recompute, Schedule, Sharding, Stack
from doctor.planner.layout import Layout
from doctor.planner.prediction import RANGES, Kind, seen
from doctor.planner.step_time import PARTS, step_time
from tests.planner.support import cluster, job

MODELS = ("llama3-8b", "llama2-70b", "mixtral-8x7b", "qwen3-235b-a22b")


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Jobs of every kind on A100 or H100 nodes."""
    shape = model(draw(st.sampled_from(MODELS)))
    tp, pp = draw(st.sampled_from((1, 2, 4, 8))), draw(st.sampled_from((1, 2, 4)))
    dp = draw(st.sampled_from((1, 2, 4, 8)))
    ep = draw(st.sampled_from([ep for ep in (1, 2, 4, 8) if tp * dp % ep == 0])) if shape.moe else 1
    micro, m = draw(st.sampled_from((1, 2))), draw(st.sampled_from((1, 4, 16)))
    name = draw(st.sampled_from(("A100-SXM4-80GB", "H100-SXM5-80GB")))
    sharding = draw(st.sampled_from(Sharding))
    return Job(
        shape=shape,
        cluster=cluster(tp * pp * dp, name),
        layout=Layout(tp=tp, pp=pp, dp=dp, ep=ep, sp=tp > 1 and draw(st.booleans())),
        seq=draw(st.sampled_from((2048, 8192))),
        micro_batch=micro,
        global_batch=micro * m * dp,
        stack=draw(st.sampled_from((Stack.MEGATRON, Stack.FSDP))),
        sharding=sharding,
        schedule=draw(st.sampled_from((Schedule.GPIPE, Schedule.ONE_F_ONE_B, Schedule.ZB_H1))),
    )


@given(jobs())
@settings(deadline=None)
def test_parts_add_up_inside_the_range(one: Job) -> None:
    found = step_time(one)
    assert set(found.parts) == set(PARTS)
    assert min(found.parts.values()) >= 0
    assert sum(found.parts.values()) == pytest.approx(found.likely)
    assert 0 < found.low < found.likely < found.high
    assert 0 < mfu(one, found.likely, causal=True) < 1


@given(jobs())
@settings(deadline=None)
def test_more_recomputation_is_never_faster(one: Job) -> None:
    times = [
        step_time(replace(one, recompute=kind)).likely for kind in (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
    ]
    assert times[0] <= times[1] * (1 + 1e-9) and times[1] <= times[2] * (1 + 1e-9)


@given(jobs())
@settings(deadline=None)
def test_more_replicas_with_the_same_work_each_are_never_faster(one: Job) -> None:
    layout = replace(one.layout, dp=2 * one.layout.dp)
    twice = replace(
        one, layout=layout, cluster=cluster(2 * one.cluster.gpus, one.cluster.gpu.name), global_batch=2 * one.global_batch
    )  # fmt: skip
    few, many = step_time(one), step_time(twice)
    assert many.products == pytest.approx(few.products)
    assert many.likely - many.optimizer >= (few.likely - few.optimizer) * (1 - 1e-9)


@given(jobs(), st.sampled_from((1.2, 2.0, 4.0)))
@settings(deadline=None)
def test_an_uneven_load_is_never_faster(one: Job, imbalance: float) -> None:
    even, uneven = step_time(one), step_time(replace(one, imbalance=imbalance))
    assert uneven.likely >= even.likely * (1 - 1e-9)
    if one.shape.moe is None:
        assert uneven.likely == even.likely


@given(jobs())
@settings(deadline=None)
def test_a_longer_batch_takes_longer_but_less_for_each_sequence(one: Job) -> None:
    twice = replace(one, global_batch=2 * one.global_batch)
    assert step_time(one).likely < step_time(twice).likely < 2 * step_time(one).likely


def test_the_70b_case_on_64_gpus_is_worth_half_of_the_peak() -> None:
    """tp 4, pp 4, vpp 5: no recomputation fits, the bubble is 3 / (5*64+3), and what tensor parallelism costs shows."""
    one = job(tp=4, pp=4, vpp=5, sp=True, sharding=Sharding.OPTIMIZER, schedule=Schedule.INTERLEAVED, global_batch=256)
    found = step_time(one)
    assert found.bubble / found.likely < 0.02
    assert found.recompute == 0.0 < found.tp
    assert 0.4 < mfu(one, found.likely) == hfu(one, found.likely) < 0.7


def test_full_recomputation_costs_about_a_third() -> None:
    one = job(tp=8, pp=4, sp=True, sharding=Sharding.OPTIMIZER)
    full = replace(one, recompute=Recompute.FULL)
    assert 1.25 < step_time(full).likely / step_time(one).likely < 1.4


def test_zero3_gathers_parameters_every_micro_batch() -> None:
    plain = job("llama3-8b", 64, seq=2048, stack=Stack.FSDP, sharding=Sharding.OPTIMIZER)
    assert step_time(replace(plain, sharding=Sharding.FULL)).dp > step_time(plain).dp > 0


def test_adapters_save_the_gradients_of_weights() -> None:
    one = job(tp=8, pp=4, sp=True, sharding=Sharding.OPTIMIZER)
    lora = step_time(replace(one, lora_rank=16))
    assert 0.6 < lora.products / step_time(one).products < 0.7
    assert lora.optimizer == 0.0


def test_tiny_layers_wait_for_the_host() -> None:
    shape = replace(model("llama3-8b"), hidden=512, heads=8, kv_heads=8, head_dim=64, ffn=2048, layers=12)
    found = step_time(job(shape=shape, gpus=8, seq=1024, micro_batch=4, global_batch=32))
    assert found.host > found.likely / 2
    assert found.kind is Kind.HOST


def test_offload_takes_the_time_of_pcie() -> None:
    one = job("llama3-8b", 8, sharding=Sharding.FULL, stack=Stack.DEEPSPEED, global_batch=8)
    away = step_time(replace(one, offload_optimizer=True))
    assert away.offload == pytest.approx(8.03e9 / 8 * 6 / 31e9, rel=0.01)
    assert step_time(replace(one, offload_optimizer=True, offload_parameters=True)).offload > away.offload


def test_activations_on_the_host_wait_only_for_what_their_work_does_not_hide() -> None:
    """Llama-3 8B: recomputed layers keep 8 KiB a token, which 31 GB/s carry beside the work; whole ones keep too much."""
    one = job("llama3-8b", 8, sharding=Sharding.FULL, stack=Stack.FSDP, global_batch=8, offload_activations=True)
    assert step_time(replace(one, recompute=Recompute.FULL)).offload == 0.0
    assert step_time(one).offload > 0.0


def test_a_gpu_without_measurements_has_a_wider_range() -> None:
    known, unknown = (step_time(job("llama3-8b", 8, cluster=cluster(8, name))) for name in ("H100", "MI300X"))
    assert unknown.high / unknown.low > known.high / known.low
    assert seen(job()) and not seen(job("llama3-8b", 8, cluster=cluster(8, "A100-PCIe-80GB")))


def test_kinds_have_ranges_around_one() -> None:
    assert all(low < 1 < high for low, high in RANGES.values())
    assert set(RANGES) == set(Kind)


def changed(one: Job, **changes: Any) -> Job:
    return replace(one, **changes)


def test_fp8_is_faster_on_large_layers() -> None:
    one = job(tp=8, pp=1, sp=True, cluster=cluster(64, "H100"), sharding=Sharding.OPTIMIZER)
    eight = step_time(changed(one, precision=Precision.FP8))
    assert eight.kind is Kind.FP8
    assert eight.likely < step_time(one).likely
