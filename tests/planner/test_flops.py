"""Floating-point operations."""

from __future__ import annotations

import pytest

from doctor.planner.families import model
from doctor.planner.flops import forward_flops, hfu, mfu, mlp_flops, model_flops, recomputed_share, scores_flops
from doctor.planner.job import Recompute
from tests.planner.support import job


def test_the_step_of_gpt3_175b_is_what_the_megatron_paper_counts() -> None:
    """96*B*s*l*h^2*(1 + s/6h + V/16lh) with recomputation (arXiv 2104.04473, equation 3), so 72 of 96 without."""
    one = job("gpt3-175b", 64, tp=8, pp=8, dp=1, seq=2048, global_batch=1536)
    batch, s, layers, h, v = 1536, 2048, 96, 12288, 50257
    paper = 96 * batch * s * layers * h**2 * (1 + s / (6 * h) + v / (16 * layers * h))
    assert model_flops(one) == pytest.approx(paper * 72 / 96, rel=0.01)


def test_a_causal_mask_halves_the_scores() -> None:
    shape = model("llama3-8b")
    assert scores_flops(shape, 8192) == 2 * 2 * 8192 * 4096 / 2
    assert scores_flops(shape, 8192, causal=False) == 2 * scores_flops(shape, 8192)


def test_a_token_costs_only_the_experts_it_goes_to() -> None:
    """DeepSeek-V3 activates 37 of 671 billion parameters a token (arXiv 2412.19437, section 1)."""
    shape = model("deepseek-v3")
    embedding = shape.vocab * shape.hidden
    assert forward_flops(shape, 1) / 2 + embedding == pytest.approx(37.6e9, rel=0.03)
    assert mlp_flops(shape, 2) == 2 * 3 * 7168 * 18432
    assert mlp_flops(shape, 3) == 2 * 7168 * (3 * 9 * 2048 + 256)


def test_full_recomputation_repeats_the_layers_but_not_the_head() -> None:
    none = job(tp=8, pp=4)
    full = job(tp=8, pp=4, recompute=Recompute.FULL)
    half = job(tp=8, pp=4, recompute=Recompute.FULL, recompute_layers=10)
    assert recomputed_share(none) == 0.0
    assert 0.99 < recomputed_share(full) < 1.0
    assert recomputed_share(half) == pytest.approx(recomputed_share(full) / 2)
    assert hfu(full, 10.0) == pytest.approx(mfu(full, 10.0) * 4 / 3, rel=0.01)


def test_selective_recomputation_repeats_the_scores_only() -> None:
    one = job(tp=8, pp=4, recompute=Recompute.SELECTIVE)
    assert recomputed_share(one) == pytest.approx(80 * scores_flops(one.shape, 4096) / forward_flops(one.shape, 4096))
    modules = job(tp=8, pp=4, recompute=Recompute.MODULES, recompute_modules=frozenset({"core_attn"}))
    assert recomputed_share(modules) == recomputed_share(one)


def test_utilisation_is_of_all_gpus() -> None:
    one = job(tp=8, pp=4)
    assert mfu(one, 20.0) == pytest.approx(model_flops(one) / (20.0 * 64 * 312e12))
