"""Megatron-LM's own argument parser, and Megatron Core's configuration classes, take what was rendered."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import sys
from typing import Any

import pytest

from doctor.adapters.registry import adapter_named

CHANGES: dict[str, Any] = {
    "tp": 4,
    "pp": 8,
    "vpp": 2,
    "cp": 2,
    "ep": 2,
    "etp": 1,
    "sp": True,
    "first": 3,
    "micro_batch": 1,
    "global_batch": 256,
    "seq": 8192,
    "precision": "fp8",
    "attention": "flash",
    "fused_loss": True,
    "offload_optimizer": True,
    "optimizer": "adam",
    "num_workers": 4,
    "manual_gc": True,
    "async_save": True,
    "dp_replicate": 2,
    "learning_rate": 1e-4,
    "save_interval": 100,
    "overlap_grad_reduce": True,
    "overlap_param_gather": True,
}


def arguments(changes: dict[str, Any]) -> Any:
    """What Megatron-LM makes of a command line with these changes."""
    checkout = os.environ.get("MEGATRON_LM")
    if not checkout:
        pytest.skip("MEGATRON_LM names no checkout of Megatron-LM: its arguments are in no package")
    sys.path.insert(0, checkout)
    try:
        module = pytest.importorskip("megatron.training.arguments", reason="what Megatron-LM imports is not installed")
    finally:
        sys.path.remove(checkout)
    text = "pretrain_gpt.py --tensor-model-parallel-size 8 --bf16\n"
    result = adapter_named("megatron").render(text, changes, path="a.sh")
    assert not result.left
    parser = module.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
    return parser.parse_args(shlex.split(result.text)[1:])


def test_every_setting_is_an_argument() -> None:
    args = arguments(CHANGES)
    assert args.tensor_model_parallel_size == 4
    assert args.num_virtual_stages_per_pipeline_rank == 2
    assert args.sequence_parallel and args.bf16
    assert args.fp8 == "hybrid"
    assert args.num_distributed_optimizer_instances == 2
    assert args.cross_entropy_loss_fusion


@pytest.mark.parametrize("sharding", ["none", "optimizer", "gradients", "full"])
def test_sharding(sharding: str) -> None:
    args = arguments({"sharding": sharding})
    assert args.use_distributed_optimizer is (sharding != "none")
    assert args.use_megatron_fsdp is (sharding in ("gradients", "full"))
    if args.use_megatron_fsdp:
        assert args.ckpt_format == "fsdp_dtensor"
        assert (
            args.data_parallel_sharding_strategy == {"gradients": "optim_grads", "full": "optim_grads_params"}[sharding]
        )


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
def test_recomputation(recompute: str) -> None:
    args = arguments({"recompute": recompute})
    assert args.recompute_granularity == (None if recompute == "none" else recompute)
    assert args.recompute_method == ("uniform" if recompute == "full" else None)


def test_modules_to_recompute() -> None:
    args = arguments({"recompute": "modules", "recompute_modules": ["mlp", "moe_act"]})
    assert args.recompute_modules == ["mlp", "moe_act"]


def test_core_takes_the_names_of_the_yaml() -> None:
    core = pytest.importorskip("megatron.core.transformer", reason="megatron-core is not installed")
    distributed = pytest.importorskip("megatron.core.distributed")
    optimizer = pytest.importorskip("megatron.core.optimizer")
    classes = (core.TransformerConfig, distributed.DistributedDataParallelConfig, optimizer.OptimizerConfig)
    known = {field.name for one in classes for field in dataclasses.fields(one)}
    text = "def f():\n    cfg.model.tensor_model_parallel_size = 8\n    cfg.ddp.overlap_grad_reduce = True\n"
    text = f"from megatron.bridge import x\n{text}    cfg.optimizer.lr = 1.0\n"
    changes = {
        name: value for name, value in CHANGES.items() if name in ("tp", "pp", "vpp", "cp", "ep", "etp", "sp", "first")
    }
    changes |= {"recompute": "full", "attention": "flash", "fused_loss": True, "offload_optimizer": True}
    result = adapter_named("nemo").render(text, changes, path="r.py")
    assert not result.left
    written = {line.split("=")[0].strip().rpartition(".")[2] for line in result.text.splitlines() if " = " in line}
    assert len(written) > 12
    assert written <= known


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
def test_core_accepts_the_values_together(recompute: str) -> None:
    core = pytest.importorskip("megatron.core.transformer", reason="megatron-core is not installed")
    text = "pretrain_gpt.py --tensor-model-parallel-size 8 --recompute-granularity selective\n"
    read = adapter_named("megatron").read
    after = adapter_named("megatron").render(text, {"recompute": recompute, "tp": 2, "sp": True}, path="a.sh").text
    words = {name.replace("-", "_"): value for name, value in _pairs(after)}
    kept = {name: words[name] for name in ("recompute_granularity", "recompute_method") if name in words}
    layers = {"recompute_num_layers": int(words["recompute_num_layers"])} if "recompute_num_layers" in words else {}
    config = core.TransformerConfig(
        num_layers=4, hidden_size=64, num_attention_heads=4, tensor_model_parallel_size=2, sequence_parallel=True, **kept, **layers
    )  # fmt: skip
    assert config.recompute_granularity == (None if recompute == "none" else recompute)
    assert read(after, "a.sh")["tp"].value == 2


def _pairs(text: str) -> list[tuple[str, str]]:
    words = shlex.split(text)
    return [
        (word[2:], words[at + 1] if at + 1 < len(words) else "")
        for at, word in enumerate(words)
        if word.startswith("--")
    ]
