"""Accelerate loads the YAML that was rendered, and its launcher knows every key in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.adapters.registry import adapter_named
from tests.adapters.samples import ACCELERATE_DEEPSPEED, ACCELERATE_FSDP1, ACCELERATE_FSDP2

config_args = pytest.importorskip("accelerate.commands.config.config_args", reason="accelerate is not installed")
launch = pytest.importorskip("accelerate.commands.launch", reason="accelerate is not installed")

MEGATRON = """compute_environment: LOCAL_MACHINE
distributed_type: MEGATRON_LM
megatron_lm_config:
  megatron_lm_tp_degree: 2
mixed_precision: bf16
num_processes: 8
"""


def loaded(text: str, changes: dict[str, Any], folder: Path) -> Any:
    """The configuration as accelerate has it, every key an option of `accelerate launch`."""
    path = folder / "config.yaml"
    path.write_text(adapter_named("accelerate").render(text, changes, path="config.yaml").text)
    config = config_args.load_config_from_file(str(path))
    known = {action.dest for action in launch.launch_command_parser()._actions}
    for section in ("fsdp_config", "deepspeed_config", "parallelism_config", "megatron_lm_config"):
        assert set(getattr(config, section)) <= known
    return config


def test_fsdp_1(tmp_path: Path) -> None:
    config = loaded(ACCELERATE_FSDP1, {"sharding": "gradients", "recompute": "full", "precision": "fp16"}, tmp_path)
    assert config.fsdp_config["fsdp_sharding_strategy"] == "SHARD_GRAD_OP"
    assert config.fsdp_config["fsdp_activation_checkpointing"] is True
    assert config.mixed_precision == "fp16"


def test_fsdp_2_with_a_mesh(tmp_path: Path) -> None:
    changes = {"sharding": "gradients", "offload_param": True, "tp": 2, "cp": 2, "dp_shard": 4, "precision": "fp32"}
    config = loaded(ACCELERATE_FSDP2, changes, tmp_path)
    assert config.fsdp_config["fsdp_reshard_after_forward"] is False
    assert config.parallelism_config["parallelism_config_tp_size"] == 2
    assert config.parallelism_config["parallelism_config_dp_shard_size"] == 4
    assert config.mixed_precision == "no"


def test_deepspeed(tmp_path: Path) -> None:
    config = loaded(
        ACCELERATE_DEEPSPEED, {"sharding": "gradients", "grad_accum": 8, "offload_optimizer": True}, tmp_path
    )
    assert config.deepspeed_config["zero_stage"] == 2
    assert config.deepspeed_config["gradient_accumulation_steps"] == 8
    assert config.deepspeed_config["offload_optimizer_device"] == "cpu"


def test_megatron(tmp_path: Path) -> None:
    changes = {"tp": 4, "pp": 2, "cp": 2, "ep": 2, "sp": True, "grad_accum": 8, "sharding": "optimizer"}
    config = loaded(MEGATRON, changes, tmp_path)
    assert config.megatron_lm_config["megatron_lm_tp_degree"] == 4
    assert config.megatron_lm_config["megatron_lm_num_micro_batches"] == 8
