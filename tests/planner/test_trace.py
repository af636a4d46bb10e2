"""The strategy: every move has a reason, memory falls, and it ends where the job fits or nothing is left to cut."""

from __future__ import annotations

import pytest

from doctor.planner.families import model
from doctor.planner.frameworks import framework, start
from doctor.planner.legality import legal
from doctor.planner.trace import Step, trace
from tests.planner.support import cluster


def steps(name: str, gpus: int, batch: int, chosen: str = "megatron", seq: int = 4096) -> tuple[Step, ...]:
    plan = framework(chosen)
    return trace(start(plan, model(name), cluster(gpus), seq, batch), plan)


def keys(found: tuple[Step, ...]) -> list[str]:
    return [step.key.removeprefix("trace.") for step in found]


def test_70b_on_64_gpus_is_sharded_then_cut_inside_the_node_then_over_nodes() -> None:
    found = steps("llama2-70b", 64, 512)
    assert keys(found) == ["whole", "plain", "shard", "tensor", "tensor", "tensor", "pipeline", "bubble"]
    assert found[0].values["each"] == 18
    assert found[-1].job and found[-1].job.layout.tp == 8


@pytest.mark.parametrize(
    ("name", "gpus", "batch", "chosen", "seq"),
    [
        ("llama2-70b", 64, 512, "megatron", 4096),
        ("llama2-70b", 64, 512, "fsdp", 4096),
        ("llama2-70b", 64, 512, "deepspeed", 4096),
        ("llama2-70b", 64, 512, "torchtitan", 4096),
        ("llama3-405b", 4096, 512, "megatron", 8192),
        ("deepseek-v3", 512, 2048, "megatron", 4096),
        ("llama3-8b", 8, 8, "megatron", 131072),
        ("llama3.2-1b", 8, 64, "fsdp", 4096),
    ],
)
def test_it_ends_with_a_legal_job_on_all_gpus_that_fits(
    name: str, gpus: int, batch: int, chosen: str, seq: int
) -> None:
    last = steps(name, gpus, batch, chosen, seq)[-1]
    assert last.job and last.peak and legal(last.job)
    assert last.job.cluster.gpus == gpus
    assert last.peak.high <= last.job.cluster.gpu.memory


def test_what_does_not_fit_ends_with_what_is_left_to_do() -> None:
    assert keys(steps("llama3-405b", 8, 8))[-1] == "stuck"


def test_too_few_sequences_for_data_parallelism_over_all_gpus_are_said() -> None:
    assert any(key.endswith(".spare") for key in keys(steps("llama3-8b", 64, 4)))


def test_experts_stay_inside_the_nvlink_domain_first() -> None:
    found = steps("qwen3-30b-a3b", 64, 512)
    assert "experts" in keys(found) and "experts_far" not in keys(found)
