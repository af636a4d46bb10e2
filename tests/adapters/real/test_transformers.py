"""transformers' own parser reads the command line and the YAML that were rendered."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from doctor.adapters.registry import adapter_named

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed, which TrainingArguments asks for")

CHANGES: dict[str, Any] = {
    "micro_batch": 2,
    "grad_accum": 16,
    "recompute": "full",
    "precision": "bf16",
    "fused_loss": True,
    "num_workers": 3,
    "learning_rate": 1e-5,
    "save_interval": 50,
}


def check(arguments: Any) -> None:
    assert arguments.per_device_train_batch_size == 2
    assert arguments.gradient_accumulation_steps == 16
    assert arguments.gradient_checkpointing is True
    assert arguments.use_liger_kernel is True
    assert arguments.dataloader_num_workers == 3
    assert arguments.learning_rate == 1e-5
    assert arguments.save_steps == 50


def test_command_line() -> None:
    text = "python t.py --output_dir out --use_cpu --per-device-train-batch-size=4 --gradient_checkpointing False\n"
    words = shlex.split(adapter_named("hf").render(text, CHANGES, path="t.sh").text)
    parser = transformers.HfArgumentParser(transformers.TrainingArguments)
    (arguments,) = parser.parse_args_into_dataclasses(words[2:])
    assert arguments.bf16 is True
    check(arguments)


def test_yaml(tmp_path: Path) -> None:
    text = "output_dir: out\nuse_cpu: true\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 1\n"
    path = tmp_path / "t.yaml"
    path.write_text(adapter_named("hf").render(text, CHANGES, path="t.yaml").text)
    parser = transformers.HfArgumentParser(transformers.TrainingArguments)
    (arguments,) = parser.parse_yaml_file(str(path))
    check(arguments)
