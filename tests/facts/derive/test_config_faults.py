"""Sizes that do not fit each other, and their nearest legal values."""

from __future__ import annotations

import pytest

from doctor.facts.derive import config_arithmetic, config_faults
from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore


def store_of(**facts: Value) -> FactStore:
    store = FactStore(Fact(f"config.{n}", v, source=Source("config", "run.sh", 1, n)) for n, v in facts.items())
    for fact in config_arithmetic.derive(store):
        store.add(fact)
    return store


def derived(store: FactStore) -> dict[str, Value]:
    return {f.name.removeprefix("config."): f.value for f in config_faults.derive(store)}


def faults(**facts: Value) -> dict[str, Value]:
    return {name: value for name, value in derived(store_of(**facts)).items() if name.endswith("_fault")}


MEGATRON: dict[str, Value] = {"framework": "megatron", "world_size": 64}


@pytest.mark.parametrize(
    "legal",
    [
        {"tp": 8, "pp": 4, "cp": 2, "num_layers": 32, "num_heads": 64, "num_kv_heads": 8},
        {"tp": 8, "num_kv_heads": 2, "num_heads": 64},
        {"tp": 4, "ep": 32, "etp": 1, "pp": 2, "num_experts": 64},
        {"pp": 4, "vpp": 2, "num_layers": 32, "micro_batch": 1, "global_batch": 64},
        {"cp": 4, "tp": 2, "seq_len": 8192, "sequence_parallel": True},
        {"pp": 4, "num_layers": 30, "decoder_layers": 12},
        {"pp": 4, "num_layers": 30, "pp_uneven": True},
    ],
)
def test_legal_sizes_have_no_fault(legal: dict[str, Value]) -> None:
    assert faults(**MEGATRON, **legal) == {}


@pytest.mark.parametrize(
    ("kind", "sizes", "text"),
    [
        ("world", {"tp": 8, "pp": 3, "cp": 2}, "64 ranks are not a multiple of TP 8 x PP 3 x CP 2 = 48"),
        ("layers", {"pp": 4, "num_layers": 30}, "num_layers 30 is not divisible by PP 4"),
        ("heads", {"tp": 8, "num_heads": 28}, "28 attention heads are not divisible by TP 8"),
        (
            "heads",
            {"tp": 4, "num_heads": 48, "num_kv_heads": 6},
            "6 key-value heads are neither a multiple nor a divisor of TP 4",
        ),
        ("experts", {"ep": 8, "num_experts": 60}, "60 experts are not divisible by EP 8"),
        (
            "experts",
            {"ep": 32, "tp": 4, "num_experts": 64},
            "64 ranks are not a multiple of ETP 4 x EP 32 x PP 1 = 128",
        ),
        (
            "batch",
            {"micro_batch": 3, "global_batch": 100},
            "global batch 100 is not divisible by micro-batch 3 x DP 64 = 192",
        ),
        (
            "microbatches",
            {"pp": 4, "vpp": 2, "num_layers": 32, "micro_batch": 1, "global_batch": 96},
            "6 micro-batches leave 2 after groups of 4, fewer than PP 4",
        ),
        ("sequence", {"cp": 8, "seq_len": 8200}, "8200 tokens are not divisible by 2 x CP 8 = 16"),
    ],
)
def test_a_fault_names_the_numbers(kind: str, sizes: dict[str, Value], text: str) -> None:
    assert faults(**MEGATRON, **sizes) == {f"{kind}_fault": text}


def test_torchtitan_multiplies_all_degrees_and_folds_the_experts() -> None:
    titan: dict[str, Value] = {"framework": "torchtitan", "world_size": 16}
    assert faults(**titan, dp_shard=2, tp=4)["world_fault"].__class__ is str
    assert faults(**titan, dp_shard=4, tp=4) == {}
    assert faults(**titan, dp_shard=4, tp=4, ep=16) == {}
    assert "experts_fault" in faults(**titan, dp_shard=2, tp=4, dp_replicate=2, ep=16)


def test_a_trainer_that_pads_takes_any_length() -> None:
    assert faults(framework="swift", world_size=8, cp=8, seq_len=8200) == {}


def test_a_mini_batch_of_prompts_is_not_a_global_batch_of_megatron() -> None:
    assert faults(framework="verl", world_size=8, prompts_per_step=16, micro_batch=5) == {}


def test_completions_of_a_prompt_fill_whole_groups() -> None:
    trl: dict[str, Value] = {"framework": "trl", "world_size": 2, "micro_batch": 6, "grad_accum": 1}
    assert faults(**trl, num_generations=8) == {
        "batch_fault": "12 completions a step are not divisible by num_generations 8"
    }
    assert faults(**trl, num_generations=6) == {}


def test_values_that_contradict_each_other_prove_nothing() -> None:
    store = store_of(framework="megatron", pp=4, num_layers=30)
    store.add(Fact("config.num_layers", 32, source=Source("config", "run.sh", 9)))
    assert "layers_fault" not in derived(store)


def test_a_number_of_nodes_that_a_variable_may_replace_proves_nothing() -> None:
    store = store_of(framework="megatron", nproc_per_node=8, tp=8, pp=4)
    assumed = Source("config", "run.sh", 1, "torchrun --nnodes $NNODES pretrain_gpt.py")
    store.add(Fact("config.nnodes", 1, source=assumed, quality=Quality.DERIVED))
    for fact in config_arithmetic.derive(store):
        store.add(fact)
    assert store.get("config.world_size") is not None and "world_fault" not in derived(store)


def test_a_program_that_told_which_check_failed_is_believed() -> None:
    store = store_of(framework="megatron", world_size=12, tp=8, pp=4, num_layers=30)
    assert {"world_fault", "layers_fault"} <= set(derived(store))
    store.add_event(Event("pipeline.layers_indivisible", Source("log", "job.log", 3, "")))
    assert "world_fault" not in derived(store) and "layers_fault" in derived(store)


def test_a_run_that_took_steps_disproves_the_arithmetic() -> None:
    store = store_of(framework="megatron", world_size=12, tp=8)
    store.add(Fact("run.steps", 10))
    assert "world_fault" not in derived(store)


def test_nearest_legal_values() -> None:
    found = derived(
        store_of(
            framework="megatron", world_size=64, tp=16, pp=6, ep=24, num_layers=32, num_heads=40, num_kv_heads=8,
            num_experts=64, micro_batch=2, dp=4, global_batch=100, cp=2, seq_len=4100, sequence_parallel=True,
        )
    )  # fmt: skip
    legal = {name.removeprefix("legal_"): value for name, value in found.items() if name.startswith("legal_")}
    assert legal == {"tp": 8, "pp": 2, "ep": 16, "global_batch": 104, "seq_len": 4128}
