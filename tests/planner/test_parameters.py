"""Parameters of models and of ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.families import families, model, published
from doctor.planner.parameters import padded_vocab, rank_parameters, total
from doctor.planner.shape import Moe, Shape
from doctor.planner.stages import stages
from tests.planner.support import job


@pytest.mark.parametrize("name", sorted(families()))
def test_every_model_has_the_parameters_that_its_checkpoint_has(name: str) -> None:
    assert total(model(name)) == pytest.approx(published()[name]["params"], rel=5e-4)


def test_the_vocabulary_is_padded_as_megatron_does() -> None:
    assert padded_vocab(job("gpt2", gpus=8, tp=4)) == 50688  # 99 * 128 * 4


@given(name=st.sampled_from(["llama2-70b", "qwen3-30b-a3b", "deepseek-v3"]), pp=st.sampled_from([1, 2, 4]))
def test_pipeline_ranks_add_up_to_the_model(name: str, pp: int) -> None:
    plan = job(name, gpus=8, pp=pp, vocab_multiple=1)
    held = sum(rank_parameters(plan, chunks).total for chunks in stages(plan))
    extra = 0 if not plan.shape.mtp_layers else 1e12
    assert held == pytest.approx(total(plan.shape), rel=1e-9, abs=extra)


def test_a_tied_model_over_a_pipeline_holds_its_matrix_at_both_ends() -> None:
    plan = job("llama3.2-1b", gpus=2, pp=2)
    first, last = (rank_parameters(plan, chunks) for chunks in stages(plan))
    assert first.embedding == last.head == padded_vocab(plan) * 2048
    alone = job("llama3.2-1b", gpus=1)
    assert rank_parameters(alone, stages(alone)[0]).head == 0


def test_expert_parallelism_cuts_experts_only() -> None:
    whole, cut = (
        rank_parameters(plan, stages(plan)[0]) for plan in (job("mixtral-8x7b", gpus=8, ep=ep) for ep in (1, 8))
    )
    assert cut.experts == whole.experts / 8
    assert cut.dense == whole.dense


def test_key_value_heads_are_repeated_where_there_are_fewer_than_ranks() -> None:
    plan = job("llama2-70b", gpus=16, tp=16)
    held = rank_parameters(plan, stages(plan)[0]).layers
    key_value = 80 * 2 * 8192 * 8 * 128 / 8
    others = 80 * (2 * 8192 * 8192 + 3 * 8192 * 28672) / 16
    assert held == pytest.approx(key_value + others + 161 * 8192)


def test_every_second_layer_may_have_experts() -> None:
    shape = Shape(
        name="x",
        layers=4,
        hidden=8,
        heads=2,
        kv_heads=2,
        head_dim=4,
        ffn=16,
        vocab=10,
        moe=Moe(experts=4, topk=1, ffn=16, every=2),
    )
    assert [shape.is_moe(layer) for layer in range(4)] == [True, False, True, False]
