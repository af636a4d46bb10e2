"""ms-swift's and LLaMA-Factory's argument classes have every name that was rendered, with values of their kinds."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import shlex
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from doctor.adapters.registry import adapter_named
from tests.adapters.samples import LLAMAFACTORY_YAML, SWIFT_MEGATRON

transformers = pytest.importorskip("transformers", reason="transformers is not installed")


def arguments_of(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, RuntimeError) as error:
        pytest.skip(f"{module} cannot be imported: {str(error)[:120]}")


def fields_in_source(package: str, file: str, name: str) -> dict[str, str]:
    """Fields of a dataclass and their types, from the source of a package that needs GPUs to be imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    tree = ast.parse((Path(next(iter(spec.submodule_search_locations))) / file).read_text(encoding="utf-8"))
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {
        node.target.id: ast.unparse(node.annotation)
        for node in found.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def test_swifts_megatron_arguments() -> None:
    fields = fields_in_source("swift", "megatron/arguments/megatron_args.py", "MegatronArguments")
    changes = {"tp": 4, "pp": 2, "vpp": 2, "cp": 2, "ep": 2, "etp": 1, "sp": True, "micro_batch": 1, "global_batch": 64,
               "seq": 4096, "recompute": "none", "precision": "fp8", "attention": "flash", "fused_loss": True,
               "offload_optimizer": True, "sharding": "full", "num_workers": 2, "first": 3, "manual_gc": True,
               "async_save": True, "learning_rate": 1e-5, "save_interval": 10}  # fmt: skip
    result = adapter_named("swift").render(SWIFT_MEGATRON, changes, path="a.sh")
    assert not result.left
    words = shlex.split(result.text)
    names = {word[2:] for word in words if word.startswith("--")} - {"model", "dataset", "max_length"}
    assert names <= set(fields)
    assert "'none'" in fields["recompute_granularity"]
    at = words.index("--recompute_granularity")
    assert words[at + 1] == "none"


def test_llamafactorys_arguments() -> None:
    model = arguments_of("llamafactory.hparams.model_args", "ModelArguments")
    data = arguments_of("llamafactory.hparams.data_args", "DataArguments")
    changes = {"micro_batch": 2, "grad_accum": 4, "seq": 1024, "recompute": "none", "precision": "fp16", "attention": "flash",
               "fused_loss": True, "sharding": "gradients", "offload_optimizer": True, "num_workers": 2}  # fmt: skip
    result = adapter_named("llamafactory").render(LLAMAFACTORY_YAML, changes, path="a.yaml")
    assert not result.left
    values = YAML(typ="safe").load(result.text)
    classes = (model, data, transformers.TrainingArguments)
    known = {field.name for one in classes for field in dataclasses.fields(one)}
    assert set(values) - {"stage", "finetuning_type"} <= known
    assert values["deepspeed"] == "examples/deepspeed/ds_z2_offload_config.json"
