"""Sizes of models, and of their states on a GPU and on a host."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts.derive import model_states
from doctor.facts.derive.model_sizes import params_from_name, params_from_shape
from doctor.facts.derive.model_states import Setup, host_state_bytes_per_node, state_bytes, state_bytes_per_gpu
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore

B = 1e9


@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("Qwen/Qwen3-14B", 14e9), ("/data/llm/llama-70b", 70e9), ("pythia-410m", 410e6), ("Foo-30B-A3B", 30e9),
        ("org/model-2.8b-v2/", 2.8e9), ("gpt2", 124e6), ("gpt2-xl", 1.56e9), ("mixtral-8x7B-instruct", 46.7e9),
        ("deepseek-r1-distill-qwen-7b", 7e9), ("deepseek-ai/DeepSeek-R1", 671e9), ("llama3 8B", 8e9),
        ("/ckpt/foo-7b/step1000", 7e9),
    ],
)  # fmt: skip
def test_the_size_in_a_name(model: str, params: float) -> None:
    assert params_from_name(model) == params


@pytest.mark.parametrize("model", ["t5x", "llama-3.1", "run-8bit", "model-4k", "b7", "abc", "", "v2.0b1"])
def test_names_without_a_size(model: str) -> None:
    assert params_from_name(model) is None


def test_the_shape_of_known_models() -> None:
    """Sizes from the model cards: GPT-3 175B, Llama-2 7B (6.74e9), Llama-3 8B (8.03e9)."""
    assert params_from_shape(96, 12288, vocab=51200) == pytest.approx(175e9, rel=0.01)
    assert params_from_shape(32, 4096, vocab=32000, ffn=11008, gated=True, heads=32) == pytest.approx(6.74e9, rel=0.01)
    llama3 = params_from_shape(32, 4096, vocab=128256, ffn=14336, gated=True, heads=32, kv_heads=8)
    assert llama3 == pytest.approx(8.03e9, rel=0.01)


def test_bytes_by_stage_as_in_the_zero_paper() -> None:
    """7.5B parameters on 64 ranks: 120, 31.4, 16.6 and 1.9 GB (1910.02054, figure 1)."""
    sizes = [state_bytes_per_gpu(Setup(7.5 * B, dp=64, zero_stage=stage)) for stage in range(4)]
    assert [round(size / 1e9, 1) for size in sizes if size] == [120.0, 31.4, 16.6, 1.9]


def test_megatron_keeps_fp32_gradients() -> None:
    plain = Setup(1 * B, framework="megatron", dp=8)
    assert state_bytes_per_gpu(plain) == 18 * B
    assert state_bytes_per_gpu(replace(plain, distributed_optimizer=True)) == (6 + 12 / 8) * B
    assert state_bytes_per_gpu(replace(plain, precision="fp16", distributed_optimizer=True)) == (4 + 16 / 8) * B


def test_model_parallelism_divides_everything() -> None:
    """70B at TP8 PP4 without sharded optimizer: about 36.4 GiB."""
    size = state_bytes_per_gpu(Setup(70 * B, framework="megatron", tp=8, pp=4, dp=2))
    assert size == pytest.approx(36.7 * 2**30, rel=0.01)


def test_offloaded_states_are_not_on_the_gpu_but_on_the_host() -> None:
    setup = Setup(72 * B, zero_stage=3, dp=32, nnodes=4, nproc_per_node=8, offload_optimizer=True, offload_param=True)
    assert state_bytes_per_gpu(setup) == 0
    assert host_state_bytes_per_node(setup) == 72 * B * 18 / 4 * 1.5
    assert host_state_bytes_per_node(replace(setup, offload_optimizer=False)) is None


def test_frozen_weights_are_only_weights() -> None:
    assert state_bytes(Setup(14 * B, lora=True)) == 28 * B
    assert state_bytes(Setup(14 * B, lora=True, quantization="4bit", trainable_params=1e8)) == 7 * B + 16e8


def test_unknown_sharding_or_experts_give_nothing() -> None:
    assert state_bytes_per_gpu(Setup(7 * B, zero_stage=3)) is None
    assert state_bytes_per_gpu(Setup(30 * B, dp=8, ep=8)) is None


@given(st.floats(1e6, 1e12), st.integers(1, 4096), st.integers(0, 3), st.sampled_from(["bf16", "fp16", "fp32"]))
def test_more_sharding_never_takes_more(params: float, dp: int, stage: int, precision: str) -> None:
    setup = Setup(params, precision=precision, dp=dp, zero_stage=stage)
    size = state_bytes_per_gpu(setup)
    assert size is not None and size <= state_bytes(setup) * (1 + 1e-9)
    if stage < 3:
        more = state_bytes_per_gpu(replace(setup, zero_stage=stage + 1))
        assert more is not None and more <= size * (1 + 1e-9)


@given(st.text(max_size=60))
def test_any_name_is_read(name: str) -> None:
    size = params_from_name(name)
    assert size is None or size > 0


def derive(**facts: Value) -> dict[str, Fact]:
    store = FactStore(
        Fact(f"config.{n}", v, "job", Source("config", "a.yaml", i, n)) for i, (n, v) in enumerate(facts.items(), 1)
    )
    return {fact.name: fact for fact in model_states.derive(store)}


def test_derived_with_their_sources() -> None:
    found = derive(model="org/foo-7b", framework="deepspeed", zero_stage=2, dp=8)
    assert found["config.params"].value == 7 * B
    assert [source.text for source in found["config.params"].because] == ["model"]
    assert found["config.state_bytes_per_gpu"].value == pytest.approx(7 * B * (2 + 14 / 8))
    assert {source.text for source in found["config.state_bytes_per_gpu"].because} == {
        "model",
        "framework",
        "zero_stage",
        "dp",
    }


def test_stated_parameters_win_over_the_name() -> None:
    found = derive(model="org/foo-7b", params=6.9e9, framework="hf")
    assert "config.params" not in found and found["config.state_bytes"].value == 16 * 6.9e9


def test_a_model_alone_is_no_training_setup() -> None:
    assert set(derive(model="org/foo-7b")) == {"config.params"}


@pytest.mark.parametrize("facts", [{"params": "many"}, {"params": 0}, {"params": 1e30}, {"model": ""}])
def test_nonsense_gives_nothing(facts: dict[str, Value]) -> None:
    assert derive(framework="hf", **facts) == {}
