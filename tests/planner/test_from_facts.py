"""The job of the facts: what is taken, what is assumed and said, what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from doctor.planner.from_facts import understand
from doctor.planner.job import Precision, Recompute, Schedule, Sharding, Stack

SHAPE = {"num_layers": 32, "hidden_size": 4096, "num_heads": 32}
RUN = {"world_size": 16, "nproc_per_node": 8, "gpu_model": "H100", "micro_batch": 2, "seq_len": 4096}


def store(**config: Any) -> FactStore:
    return FactStore(Fact(f"config.{name}", value) for name, value in config.items())


def test_a_megatron_job() -> None:
    found = understand(store(framework="megatron", **SHAPE, **RUN, tp=2, pp=2, global_batch=64, recompute="full",
                             distributed_optimizer=True, precision="bf16", sequence_parallel=True))  # fmt: skip
    job = found.job
    assert job is not None and not found.missing
    assert (job.layout.tp, job.layout.pp, job.layout.dp, job.layout.sp) == (2, 2, 4, True)
    assert (job.stack, job.sharding, job.recompute) == (Stack.MEGATRON, Sharding.OPTIMIZER, Recompute.FULL)
    assert job.cluster.nodes == 2


def test_what_is_assumed_is_said() -> None:
    assumed = dict(understand(store(framework="megatron", **SHAPE, **RUN)).assumed)
    assert assumed["config.vocab_size"] == "50257"
    assert assumed["config.ffn_hidden_size"] == "16384"
    assert assumed["config.global_batch"] == "32"
    assert "config.micro_batch" not in assumed


@pytest.mark.parametrize("gone", ["micro_batch", "seq_len", "world_size"])
def test_without_what_matters_there_is_no_job_and_the_fact_is_named(gone: str) -> None:
    facts = {**SHAPE, **RUN}
    del facts[gone]
    facts.pop("nproc_per_node")
    found = understand(store(framework="megatron", **facts))
    assert found.job is None and found.missing == (f"config.{gone}",)


def test_a_model_by_name_needs_no_sizes_and_its_path_is_not_read() -> None:
    found = understand(store(framework="fsdp", model="/models/meta-llama/Meta-Llama-3-8B", fsdp=True, **RUN))
    assert found.job is not None and found.job.shape.hidden == 4096 and found.job.shape.vocab == 128256
    assert found.job.sharding is Sharding.FULL
    nothing = understand(store(framework="fsdp", model="/etc", **RUN))
    assert nothing.job is None and nothing.missing == ("config.model",)


def test_deepspeed_and_hybrid_fsdp() -> None:
    zero = understand(store(framework="hf", zero_stage=3, offload_optimizer=True, model="llama3-8b", **RUN)).job
    assert zero and (zero.stack, zero.sharding, zero.offload_optimizer) == (Stack.DEEPSPEED, Sharding.FULL, True)
    hybrid = understand(store(framework="fsdp", fsdp_strategy="hybrid_shard", model="llama3-8b", **RUN)).job
    assert hybrid and hybrid.layout.shard == 8


def test_the_memory_of_the_card_alone_is_enough_for_what_fits() -> None:
    facts = {name: value for name, value in RUN.items() if name != "gpu_model"}
    known = store(framework="megatron", **SHAPE, **facts)
    known.add(Fact("job.gpu_memory", 80 * 2.0**30))
    job = understand(known).job
    assert job and job.cluster.gpu.memory == 80 * 2.0**30 and job.cluster.gpu.peak_bf16 is None


def test_virtual_stages_by_their_layers_and_fp8() -> None:
    job = understand(store(framework="megatron", **SHAPE, **RUN, pp=4, layers_per_virtual_stage=2, fp8=True)).job
    assert job and job.layout.vpp == 4 and job.schedule is Schedule.INTERLEAVED and job.precision is Precision.FP8


def test_what_contradicts_itself_is_a_problem_in_one_line() -> None:
    found = understand(store(framework="megatron", **SHAPE, **RUN, tp=3))
    assert found.job is None and found.problem and "tp 3" in found.problem.en


def test_reinforcement_learning_is_not_modelled() -> None:
    assert understand(store(framework="verl", **SHAPE, **RUN)).problem


def test_experts_are_read_with_their_own_degrees() -> None:
    job = understand(store(framework="megatron", **SHAPE, **RUN, num_experts=8, moe_topk=2, ep=4, etp=1, tp=2,
                           sequence_parallel=True)).job  # fmt: skip
    assert job and job.shape.moe and (job.layout.ep, job.layout.etp) == (4, 1)
