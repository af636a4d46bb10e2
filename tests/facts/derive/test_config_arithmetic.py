"""Arithmetic over a job's configuration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts.derive import config_arithmetic
from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

SIZES = st.integers(min_value=1, max_value=64)


def store_of(entity: str = "job", **facts: Value) -> FactStore:
    found = [
        Fact(f"config.{n}", v, entity, Source("config", "run.sh", i, n)) for i, (n, v) in enumerate(facts.items(), 1)
    ]
    return FactStore(found)


def derived(**facts: Value) -> dict[str, Value]:
    return {f.name.removeprefix("config."): f.value for f in config_arithmetic.derive(store_of(**facts))}


def test_ranks_and_data_parallel_size() -> None:
    found = derived(nnodes=4, nproc_per_node=8, tp=4, pp=2, framework="megatron")
    assert found == {"world_size": 32, "dp": 4}


def test_what_was_stated_is_not_computed_again() -> None:
    assert derived(nnodes=2, nproc_per_node=8, world_size=12) == {}


def test_a_world_that_the_degrees_do_not_divide_has_no_data_parallel_size() -> None:
    assert "dp" not in derived(world_size=12, tp=8, framework="megatron")


def test_without_a_training_configuration_missing_degrees_are_unknown() -> None:
    assert "dp" not in derived(world_size=16)


def test_a_degree_that_only_a_run_knows_is_not_one_for_the_job() -> None:
    store = store_of(world_size=16, framework="megatron")
    store.add(Fact("config.tp", 8, "run:tp8", Source("log")))
    assert [(f.entity, f.name, f.value) for f in config_arithmetic.derive(store)] == [("run:tp8", "config.dp", 2)]


def test_a_script_that_falls_back_to_one_node_yields_to_what_the_program_reports() -> None:
    store = store_of(nproc_per_node=8, world_size_echoed=32)
    store.add(Fact("config.nnodes", 1, quality=Quality.DERIVED))
    assert {f.name: f.value for f in config_arithmetic.derive(store)}["config.world_size"] == 32


def test_batches() -> None:
    found = derived(global_batch=64, micro_batch=2, dp=4, pp=2)
    assert (found["num_microbatches"], found["grad_accum"]) == (8, 8)
    assert derived(micro_batch=2, grad_accum=4, dp=8)["global_batch"] == 64
    assert "num_microbatches" not in derived(global_batch=30, micro_batch=4, dp=2)


def test_layers_lost_to_floor_division() -> None:
    found = derived(num_layers=80, pp=16, layers_per_virtual_stage=2)
    assert (found["vpp"], found["layers_per_stage"], found["layers_built"]) == (2, 5, 64)


def test_layers_laid_out_by_hand_are_not_divided() -> None:
    assert "layers_built" not in derived(num_layers=30, pp=4, pp_uneven=True)
    assert derived(num_layers=30, pp=4, pp_uneven=False)["layers_built"] == 28


@pytest.mark.parametrize(
    ("path", "stage"),
    [("examples/ds_z3_config.json", 3), ("zero2.json", 2), ("conf/stage1_offload.json", 1), ("configs/zero-3.yaml", 3)],
)
def test_the_zero_stage_in_the_name_of_a_configuration(path: str, stage: int) -> None:
    found = derived(deepspeed_config=path)
    assert found["zero_stage"] == stage and found.get("offload_optimizer") == ("offload" in path or None)


@pytest.mark.parametrize("path", ["ds_config.json", "run_2026/ds.json", "z30.json", "frozen3.json"])
def test_other_names_carry_no_stage(path: str) -> None:
    assert "zero_stage" not in derived(deepspeed_config=path)


def test_sources_are_those_of_the_inputs() -> None:
    facts = list(
        config_arithmetic.derive(store_of(nnodes=2, nproc_per_node=8, framework="hf", micro_batch=1, grad_accum=2))
    )
    by_name = {fact.name: fact for fact in facts}
    assert [source.text for source in by_name["config.world_size"].because] == ["nnodes", "nproc_per_node"]
    assert {source.text for source in by_name["config.global_batch"].because} >= {"nnodes", "micro_batch"}
    assert all(fact.quality is Quality.DERIVED for fact in facts)


@pytest.mark.parametrize("value", [0, -1, 10**30, True])
def test_sizes_that_cannot_be_are_not_used(value: Value) -> None:
    assert "world_size" not in derived(nnodes=value, nproc_per_node=8) or value is True


@given(SIZES, SIZES, SIZES, SIZES)
def test_degrees_multiply_to_the_world(tp: int, pp: int, cp: int, dp: int) -> None:
    found = derived(world_size=tp * pp * cp * dp, tp=tp, pp=pp, cp=cp, framework="megatron")
    assert found["dp"] == dp


@given(st.integers(1, 200), SIZES, st.integers(1, 8))
def test_no_more_layers_are_built_than_asked_for(layers: int, pp: int, vpp: int) -> None:
    built = config_arithmetic.layers_built(layers, pp, vpp) or 0
    assert built <= layers and built % (pp * vpp) == 0 and layers - built < pp * vpp


@given(st.integers(-5, 10**12), st.lists(st.integers(-5, 10**6), max_size=3))
def test_a_quotient_is_exact(total: int, divisors: list[int]) -> None:
    result = config_arithmetic.quotient(total, *divisors)
    assert result is None or result * config_arithmetic.product(*divisors) == total
