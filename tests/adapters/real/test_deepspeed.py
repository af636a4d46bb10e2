"""DeepSpeed reads the JSON that was rendered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.adapters.registry import adapter_named

config = pytest.importorskip("deepspeed.runtime.config", reason="deepspeed is not installed", exc_type=ImportError)
BEFORE = {
    "train_batch_size": 8,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 1},
}


@pytest.mark.parametrize("stage", ["none", "optimizer", "gradients", "full"])
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_stage_batch_precision_and_offload(stage: str, precision: str, tmp_path: Path) -> None:
    changes = {
        "sharding": stage,
        "precision": precision,
        "micro_batch": 2,
        "grad_accum": 16,
        "offload_optimizer": stage != "none",
        "reduce_bucket": 50_000_000,
    }
    text = adapter_named("deepspeed").render(json.dumps(BEFORE, indent=2), changes, path="ds.json").text
    path = tmp_path / "ds.json"
    path.write_text(text)
    read = config.DeepSpeedConfig(str(path))
    assert read.zero_optimization_stage == ["none", "optimizer", "gradients", "full"].index(stage)
    # One process: the product must hold for it, or DeepSpeed refuses.
    assert (read.train_micro_batch_size_per_gpu, read.gradient_accumulation_steps) == (2, 16)
    assert read.train_batch_size == 32
    assert read.zero_config.reduce_bucket_size == 50_000_000
    if stage != "none":
        assert read.zero_config.offload_optimizer.device == "cpu"


def test_a_triangle_that_is_not_true_is_refused_which_is_why_it_is_kept_true() -> None:
    with pytest.raises(AssertionError):
        config.DeepSpeedConfig({**BEFORE, "train_batch_size": 9})
