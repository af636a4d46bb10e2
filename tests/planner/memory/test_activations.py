"""Bytes that layers keep for the backward pass."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.planner.job import Attention, Job, Precision, Recompute, Stack
from doctor.planner.memory import activations, eager
from doctor.planner.shape import Norm, Shape
from tests.planner.support import job, replace

# 22B of Korthikanti et al., table 3: its own layers, unfused and with dropout.
GPT_22B = Shape(
    name="gpt", layers=48, hidden=6144, heads=64, kv_heads=64, head_dim=96, ffn=24576, vocab=51200,
    gated=False, bias=True, norm=Norm.LAYER,
)  # fmt: skip


def gpt(**changes: Any) -> Job:
    fields = {
        "attention": Attention.UNFUSED,
        "dropout": True,
        "seq": 2048,
        "micro_batch": 4,
        "global_batch": 4,
        **changes,
    }
    return job(shape=GPT_22B, gpus=8, **fields)


@pytest.mark.parametrize(
    ("changes", "factor"),
    [
        ({"tp": 8}, 10 + 24 / 8 + 5 * 64 * 2048 / 6144 / 8),
        ({"tp": 8, "sp": True}, 34 / 8 + 5 * 64 * 2048 / 6144 / 8),
        ({"tp": 8, "recompute": Recompute.SELECTIVE}, 10 + 24 / 8),
        ({"tp": 8, "sp": True, "recompute": Recompute.SELECTIVE}, 34 / 8),
        ({"tp": 8, "recompute": Recompute.FULL}, 2),
    ],
)
def test_the_table_of_korthikanti_comes_out(changes: dict[str, Any], factor: float) -> None:
    """arXiv 2205.05198, table 2, in units of s*b*h B a layer."""
    assert activations.kept(gpt(**changes), 0) == pytest.approx(factor * 6144)


def test_a_fused_llama_layer_keeps_what_its_kernels_save() -> None:
    """Two norms' input and output, queries, keys, values, output with statistics, gate and value, and their product."""
    expected = 8 * 8192 + 2 * (64 + 16) * 128 + 2 * 64 * 128 + 4 * 64 + 6 * 28672
    assert activations.kept(job(gpus=8), 0) == expected


def test_flash_attention_leaves_nothing_for_selective_recomputation_but_statistics() -> None:
    plan = job(gpus=8)
    saved = activations.kept(plan, 0) - activations.kept(replace(plan, recompute=Recompute.SELECTIVE), 0)
    assert saved == 4 * 64


def test_experts_keep_every_copy_of_a_token() -> None:
    plan = job("mixtral-8x7b", gpus=8, ep=8)
    found = activations.parts(plan, 0)
    assert found["expert_in"] == 2 * 2 * 4096
    assert found["expert_hidden"] == 2 * 4 * 14336
    assert activations.parts(replace(plan, imbalance=2.0), 0)["expert_act"] == 2 * found["expert_act"]


def test_modules_drop_their_own_part() -> None:
    plan = job("deepseek-v3", gpus=8, ep=8, recompute=Recompute.MODULES, recompute_modules=frozenset(("mla_up_proj",)))
    whole = activations.parts(plan, 10)
    assert activations.kept(plan, 10) == pytest.approx(sum(whole.values()) - whole["qkv"])


def test_fp8_products_keep_their_inputs_in_one_byte() -> None:
    wide, narrow = (activations.parts(job(gpus=8, precision=one), 0) for one in (Precision.BF16, Precision.FP8))
    assert narrow["mlp_act"] == wide["mlp_act"] / 2
    assert narrow["residual"] == wide["residual"]


def test_eager_operations_keep_more_than_fused_ones_and_compiled_ones_less() -> None:
    plan = job(gpus=8, stack=Stack.FSDP)
    whole = eager.kept(plan, 0)
    assert whole > activations.kept(plan, 0)
    assert eager.kept(replace(plan, compile=True), 0) < activations.kept(plan, 0)


def test_every_second_product_is_kept() -> None:
    plan = job("llama3-8b", gpus=8, stack=Stack.FSDP, recompute=Recompute.OPERATORS)
    expected = 2 * 4096 + 2 * 4096 + 2 * 1024 + 2 * 14336 + 2 * 4096 + 2 * 4096 + 4 * 32
    assert eager.kept(plan, 0) == expected
