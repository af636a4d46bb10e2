"""Options that exclude or need each other, beside those that go together."""

from __future__ import annotations

import pytest

from doctor.facts.derive import config_options
from doctor.facts.derive.config_options import capability
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore


def derived(**facts: Value) -> dict[str, Value]:
    named = {name if "." in name else f"config.{name}": value for name, value in facts.items()}
    text = {"config.recompute": "--recompute-granularity full", "config.precision": "--bf16"}
    store = FactStore(Fact(n, v, source=Source("config", "run.sh", 1, text.get(n, n))) for n, v in named.items())
    return {fact.name.removeprefix("config."): fact.value for fact in config_options.derive(store)}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"overlap_param_gather": True, "overlap_grad_reduce": True}, "needs --use-distributed-optimizer"),
        ({"overlap_param_gather": True, "distributed_optimizer": True}, "needs --overlap-grad-reduce"),
        ({"tp_comm_overlap": True, "sequence_parallel": True}, "needs --sequence-parallel and TP above 1"),
        ({"recompute": "full", "recompute_method": "uniform"}, "needs --recompute-num-layers"),
        ({"recompute": "selective", "recompute_method": "block"}, "excludes --recompute-method block"),
        ({"hidden_size": 1000, "num_heads": 12}, "hidden size 1000 is not divisible by 12 heads"),
        ({"seq_len": 8192, "max_positions": 4096}, "--seq-length 8192 exceeds --max-position-embeddings 4096"),
        ({"num_experts": 8, "tp": 2, "learning_rate": 1e-4}, "8 experts with TP 2 need --sequence-parallel"),
        ({"moe_capacity_factor": 1.5, "moe_balancing": "sinkhorn"}, "excludes sinkhorn balancing"),
        ({"moe_pad_to_capacity": True}, "needs --moe-expert-capacity-factor"),
        ({"torch_fsdp2": True, "pp": 2}, "--use-torch-fsdp2 excludes PP 2"),
    ],
)
def test_megatron_refuses(options: dict[str, Value], text: str) -> None:
    assert text in str(derived(framework="megatron", **options).get("options_fault"))


@pytest.mark.parametrize(
    "options",
    [
        {"overlap_param_gather": True, "overlap_grad_reduce": True, "megatron_fsdp": True},
        {"overlap_param_gather": True, "overlap_grad_reduce": True, "distributed_optimizer": True},
        {"tp_comm_overlap": True, "sequence_parallel": True, "tp": 2},
        {"recompute": "full", "recompute_method": "uniform", "recompute_layers": 1},
        {"hidden_size": 1000, "num_heads": 12, "head_dim": 128},
        {"seq_len": 4096, "max_positions": 4096},
        {"num_experts": 8, "tp": 2, "sequence_parallel": True, "learning_rate": 1e-4},
        {"num_experts": 8, "tp": 2},
        {"moe_capacity_factor": 1.5, "moe_balancing": "aux_loss"},
        {"torch_fsdp2": True, "tp": 2},
    ],
)
def test_megatron_takes(options: dict[str, Value]) -> None:
    assert derived(framework="megatron", **options) == {}


def test_frameworks_with_defaults_of_their_own_are_judged_by_what_they_state() -> None:
    assert derived(framework="nemo", overlap_param_gather=True) == {}


def test_both_precisions_count_in_one_file_only() -> None:
    def precision(path: str, value: str) -> Fact:
        return Fact("config.precision", value, source=Source("config", path, 1, f'"{value}": {{"enabled": true}}'))

    both = FactStore([precision("ds.json", "bf16"), precision("ds.json", "fp16")])
    apart = FactStore([precision("ds.json", "bf16"), precision("accelerate.yaml", "fp16")])
    assert [fact.name for fact in config_options.derive(both)] == ["config.options_fault"]
    assert list(config_options.derive(apart)) == []


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"tp": 4, "env.CUDA_DEVICE_MAX_CONNECTIONS": "8", "gpu_model": "H100"}, True),
        ({"tp": 4, "env.CUDA_DEVICE_MAX_CONNECTIONS": "1", "gpu_model": "H100"}, False),
        ({"tp": 4, "env.CUDA_DEVICE_MAX_CONNECTIONS": "8", "gpu_model": "B200"}, False),
        ({"tp": 4, "env.CUDA_DEVICE_MAX_CONNECTIONS": "8"}, False),
        ({"megatron_fsdp": True, "env.CUDA_DEVICE_MAX_CONNECTIONS": "1"}, True),
        ({"megatron_fsdp": True, "env.CUDA_DEVICE_MAX_CONNECTIONS": "8", "tp": 2, "gpu_model": "H100"}, False),
    ],
)
def test_hardware_queues(options: dict[str, Value], fault: bool) -> None:
    assert ("connections_fault" in derived(framework="megatron", **options)) is fault


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"precision": "fp16", "loss_scale": 1024.0}, "fixed at 1024"),
        ({"precision": "bf16", "gpu_model": "Tesla V100-SXM2-32GB"}, "has no bf16 arithmetic"),
        ({"fp8": True, "gpu_model": "A100"}, "has no FP8 arithmetic"),
        ({"framework": "deepspeed", "zero_stage": 3, "ep": 4}, "do not run with ZeRO-3"),
    ],
)
def test_notes(options: dict[str, Value], text: str) -> None:
    assert text in str(derived(**options).get("options_note"))


def test_an_idle_switch_is_no_danger() -> None:
    found = derived(framework="megatron", sequence_parallel=True)
    assert found["options_idle"] == "--sequence-parallel does nothing with TP 1"
    assert "options_note" not in found
    assert "options_idle" not in derived(framework="megatron", sequence_parallel=True, tp=2)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "fp16", "loss_scale": 0.0},
        {"precision": "bf16", "gpu_model": "A100"},
        {"fp8": True, "gpu_model": "H100"},
        {"fp8": True, "gpu_model": "NVIDIA L40S"},
        {"framework": "megatron", "sequence_parallel": True, "tp": 2},
    ],
)
def test_nothing_to_note(options: dict[str, Value]) -> None:
    assert derived(**options) == {}


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("NVIDIA A100-SXM4-80GB", 8.0), ("NVIDIA H100 80GB HBM3", 9.0), ("Tesla T4", 7.5), ("NVIDIA GB200", 10.0),
        ("NVIDIA A10G", 8.6), ("NVIDIA L4", 8.9), ("NVIDIA H20", 9.0), ("AMD Instinct MI300X", None),
    ],
)  # fmt: skip
def test_compute_capability_by_name(name: str, level: float | None) -> None:
    assert capability(name) == level
