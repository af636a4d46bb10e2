"""NeMo and Megatron-Bridge: Python recipes, YAML, and overrides on a command line.

Source: Megatron-Bridge, src/megatron/bridge/recipes (cfg.model.*, cfg.train.*, cfg.ddp.*, cfg.optimizer.*) and
training/mixed_precision.py (names of precision recipes). NeMo 2 keeps the degrees in its strategy and the batch in its
data module, NeMo-RL in policy.megatron_cfg: the same names in other sections.
"""

from __future__ import annotations

import re

from doctor.adapters import megatron_names as names
from doctor.adapters.dialect import Dialect, Form, Repeats
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.model import Code
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.syntax.python_file import PythonFile
from doctor.adapters.syntax.yaml_file import YamlFile
from doctor.adapters.ways import Way, as_number, choice, number, switch, where_there

OWN_PYTHON = re.compile(r"\b(?:nemo|megatron\.bridge|nemo_run)\b|\bMegatronStrategy\b")
OWN_NAME = re.compile(r"\btensor_model_parallel_size\b|\bmicro_batch_size\b|\bpipeline_model_parallel_size\b")
OWN_YAML = re.compile(
    r"^(?:model|train|trainer|policy|ddp)\s*:(?:.*\n)+?\s+(?:tensor_model_parallel_size|global_batch_size"
    r"|micro_batch_size|megatron_cfg|train_global_batch_size)\s*:",
    re.MULTILINE,
)
BRIDGE_YAML = re.compile(r"^(?:train|ddp|checkpoint|mixed_precision)\s*:", re.MULTILINE)
OWN_OVERRIDE = re.compile(
    r"(?:^|\s)[\"']?[+]{0,2}(?:model|train|policy)\.(?:tensor_model_parallel_size|pipeline_model_parallel_size"
    r"|micro_batch_size|global_batch_size|megatron_cfg)\S*="
)
PRECISIONS = {"bf16": "bf16_mixed", "fp16": "fp16_mixed", "fp8": "bf16_with_fp8_current_scaling_mixed"}
OTHER_PLACE = (
    "its section differs between NeMo's versions and this file does not show it: set it by hand",
    "它所在的段落因 NeMo 版本而异，本文件也没有体现：请手工设置",
)
WAYS: dict[str, Way] = {
    **names.degrees("model."),
    **names.chunks("model.virtual_pipeline_model_parallel_size"),
    **names.stage_ends("model.", "num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage"),
    **names.recomputation("model."),
    **names.kernels("model."),
    **names.sharding("ddp.", "checkpoint.ckpt_format"),
    **names.offload("optimizer."),
    "precision": choice(
        "mixed_precision",
        PRECISIONS,
        {"bf16-mixed": "bf16", "fp16-mixed": "fp16", "bf16_with_fp8_delayed_scaling_mixed": "fp8"},
    ),
    "micro_batch": number("train.micro_batch_size"),
    "global_batch": number("train.global_batch_size"),
    "seq": number("model.seq_length"),
    "learning_rate": number("optimizer.lr"),
    "num_workers": number("dataset.num_workers"),
    "save_interval": number("checkpoint.save_interval"),
    "manual_gc": switch("train.manual_gc"),
    "async_save": switch("checkpoint.async_save"),
    "overlap_grad_reduce": switch("ddp.overlap_grad_reduce"),
    "overlap_param_gather": switch("ddp.overlap_param_gather"),
}
KEYS = tuple(key for way in WAYS.values() for key in way.keys)
# The same setting in other sections, by its own name: strategy, megatron_cfg, data, trainer.
OTHER_NAMES = {
    key: (key.rpartition(".")[2],) for key in KEYS if key.rpartition(".")[2] not in ("lr", "num_workers", "seq_length")
} | {
    "train.micro_batch_size": ("micro_batch_size", "train_micro_batch_size"),
    "train.global_batch_size": ("global_batch_size", "train_global_batch_size"),
    "model.seq_length": ("seq_length", "max_total_sequence_length"),
    "model.num_layers_in_first_pipeline_stage": ("num_layers_in_first_pipeline_stage",),
}
DIALECT = Dialect(
    title="NeMo and Megatron-Bridge",
    ways=WAYS,
    aliases={key: other for key, other in OTHER_NAMES.items() if other != (key,)},
    groups=(
        tuple(f"model.{name}" for name in (*names.PARALLEL, "virtual_pipeline_model_parallel_size")),
        tuple(f"model.{name}" for name in names.RECOMPUTE),
        ("train.micro_batch_size", "train.global_batch_size"),
        ("ddp.use_distributed_optimizer", "ddp.overlap_grad_reduce", "ddp.overlap_param_gather"),
    ),
    absent={
        "grad_accum": (
            "derived: global batch / (micro-batch x data-parallel ranks)",
            "由 全局批 /（微批 × 数据并行数）得出",
        ),
        "offload_param": (
            "Megatron keeps weights on the GPU; it can offload activations and optimizer states",
            "Megatron 的权重始终在 GPU 上；可卸载激活值与优化器状态",
        ),
    },
)


def _where_it_is(key: str) -> Way:
    """A number whose section differs between versions: it is changed where the file has it."""
    return Way((key,), lambda value: {key: where_there(value, *OTHER_PLACE)}, lambda texts: as_number(texts.get(key)))


# NeMo 1 and 2 and NeMo-RL agree with Megatron-Bridge on the model and the batch alone.
IN_MODEL = ("tp", "pp", "cp", "ep", "etp", "sp", "dp", "vpp", "stack", "schedule", "first", "last", "recompute",
            "recompute_layers", "recompute_modules", "attention", "seq")  # fmt: skip
NEMO = Dialect(
    title="NeMo",
    ways={
        **{name: WAYS[name] for name in IN_MODEL},
        "micro_batch": _where_it_is("micro_batch_size"),
        "global_batch": _where_it_is("global_batch_size"),
    },
    aliases={
        **DIALECT.aliases,
        "micro_batch_size": ("train_micro_batch_size",),
        "global_batch_size": ("train_global_batch_size",),
    },
    groups=DIALECT.groups,
    absent={**dict.fromkeys(WAYS, OTHER_PLACE), **DIALECT.absent},
)


def _python(path: str, text: str) -> bool:
    return path.lower().endswith(".py") and OWN_PYTHON.search(text) is not None and OWN_NAME.search(text) is not None


def _yaml(path: str, text: str) -> bool:
    return path.lower().endswith((".yaml", ".yml")) and OWN_YAML.search(text) is not None


def _command(path: str, text: str) -> bool:
    shell = not path.lower().endswith((".py", ".json", ".toml", ".yaml", ".yml"))
    return shell and OWN_OVERRIDE.search(text) is not None and "actor_rollout_ref" not in text


ADAPTER = FileAdapter(
    name="nemo",
    forms=(
        Form(fits=_python, syntax=PythonFile(), dialect=DIALECT, repeats=Repeats.UNCLEAR, null=Code("None")),
        Form(
            fits=lambda path, text: _yaml(path, text) and BRIDGE_YAML.search(text) is not None,
            syntax=YamlFile(),
            dialect=DIALECT,
            null=Code("null"),
        ),
        Form(fits=_yaml, syntax=YamlFile(), dialect=NEMO, null=Code("null")),
        Form(
            fits=_command,
            syntax=CommandLine(overrides=True),
            dialect=DIALECT,
            repeats=Repeats.ALL,
            shell=True,
            null=Code("null"),
        ),
    ),
)
