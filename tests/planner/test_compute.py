"""Work of one micro-batch."""

from __future__ import annotations

from dataclasses import replace
from math import hypot

import pytest

from doctor.planner.compute import generation_of, head, layer, product, rates, repeated
from doctor.planner.constants import BOUNDS, FITTED
from doctor.planner.errors import PlanError
from doctor.planner.hardware import gpu
from doctor.planner.job import Attention, Precision, Recompute, Stack
from tests.planner.support import cluster, job

H100 = cluster(64, "H100-SXM5-80GB")


def test_a_large_product_takes_its_flop_at_the_sustained_rate() -> None:
    """2 * 8192^3 FLOP at 76 % of 312 TFLOP/s, beside 3 * 8192^2 * 2 B at 64 % of 2 TB/s."""
    forward, backward = product(rates(job(), FITTED), 8192, 8192, 8192)
    flop = 2 * 8192**3 / (312e12 * FITTED.matmul_ampere)
    moved = 3 * 8192**2 * 2 / (2000e9 * FITTED.bandwidth)
    assert forward.products == pytest.approx(hypot(flop, moved))
    assert 2 * forward.products < backward.products < 2.1 * forward.products


def test_a_thin_product_is_bound_by_memory() -> None:
    forward, _ = product(rates(job(), FITTED), 16, 8192, 8192)
    assert forward.products == pytest.approx(8192 * 8192 * 2 / (2000e9 * FITTED.bandwidth), rel=0.02)


def test_a_frozen_weight_has_no_gradient() -> None:
    rate = rates(job(), FITTED)
    assert product(rate, 4096, 4096, 4096, frozen=True)[1].products == pytest.approx(
        product(rate, 4096, 4096, 4096)[0].products
    )


def test_fp8_speeds_products_up_but_not_attention_nor_the_head() -> None:
    plain, eight = (job(cluster=H100, tp=8, pp=1, precision=precision) for precision in (Precision.BF16, Precision.FP8))
    (one, _), (two, _) = (layer(given, False, rates(given, FITTED)) for given in (plain, eight))
    assert two.products < 0.65 * one.products
    assert two.attention == one.attention
    assert two.memory > one.memory
    assert head(eight, rates(eight, FITTED)) == head(plain, rates(plain, FITTED))


def test_fp8_needs_a_gpu_that_has_it() -> None:
    with pytest.raises(PlanError, match="no FP8"):
        rates(job(precision=Precision.FP8), FITTED)


def test_eager_operators_move_more() -> None:
    eager, compiled = (job(stack=Stack.FSDP, compile=given) for given in (False, True))
    assert rates(eager, FITTED).eager > rates(compiled, FITTED).eager == 1.0


def test_unfused_attention_writes_its_scores() -> None:
    flash, unfused = (job(tp=8, pp=1, attention=given) for given in Attention)
    assert layer(unfused, False, rates(unfused, FITTED))[0].memory > layer(flash, False, rates(flash, FITTED))[0].memory


def test_what_is_repeated_is_part_of_the_forward_pass() -> None:
    for kind in Recompute:
        one = job(tp=8, pp=1, recompute=kind, recompute_modules=frozenset({"core_attn", "mlp", "layernorm"}))
        rate = rates(one, FITTED)
        forward, _ = layer(one, False, rate)
        again = repeated(one, False, forward, rate)
        assert 0 <= again.seconds <= forward.seconds
        assert (again.seconds > 0) == (kind is not Recompute.NONE)


def test_a_few_rows_an_expert_are_slower_than_many() -> None:
    """The same tokens on 8 or on 64 ranks: an expert of a large group sees more rows."""
    many, few = (job("qwen3-235b-a22b", 64, ep=ep, cluster=H100) for ep in (64, 8))
    assert layer(many, True, rates(many, FITTED))[0].products < layer(few, True, rates(few, FITTED))[0].products


def test_imbalance_slows_the_experts_alone() -> None:
    even, uneven = (job("qwen3-235b-a22b", 64, ep=8, cluster=H100, imbalance=given) for given in (1.0, 1.5))
    assert layer(uneven, True, rates(uneven, FITTED))[0].products > layer(even, True, rates(even, FITTED))[0].products
    assert layer(uneven, False, rates(uneven, FITTED)) == layer(even, False, rates(even, FITTED))


def test_constants_are_physical() -> None:
    for name, (low, high) in BOUNDS.items():
        assert low <= getattr(FITTED, name) <= high, name
    shares = [name for name in BOUNDS if name.split("_")[0] in ("matmul", "fp8", "attention", "bandwidth", "network")]
    assert all(BOUNDS[name][1] <= 1 for name in shares)


def test_every_gpu_has_a_generation() -> None:
    assert generation_of(gpu("GB200")) == "blackwell"
    assert generation_of(gpu("H20")) == "hopper"
    assert generation_of(gpu("A100-40G")) == generation_of(gpu("V100")) == "ampere"


def test_the_rate_of_a_gpu_with_unknown_peak_is_asked_for() -> None:
    one = job()
    bare = replace(one.cluster.gpu, peak_bf16=None, peak_fp16=None)
    with pytest.raises(PlanError, match="not known"):
        rates(replace(one, cluster=replace(one.cluster, gpu=bare)), FITTED)
