"""torchtitan: TOML up to 0.2, Python configurations from 0.3, and the options that both take on a command line.

Source: torchtitan v0.1.0 config_manager.py and v0.2.2 config/job_config.py (TOML; sections parallelism, training,
activation_checkpoint), 0.3.0 config/configs.py and distributed/activation_checkpoint.py (policies instead of a mode),
main since August 2026 (tokens instead of batches). Before 0.1 the degrees stood in [training] and [experimental].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.adapters.dialect import Dialect, Form, Repeats
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.model import Code, Note
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.syntax.python_file import PythonFile
from doctor.adapters.syntax.toml_file import TomlFile
from doctor.adapters.ways import Texts, Way, as_number, choice, default, either, follows, number, switch

OWN_SECTION = re.compile(r"^[ \t]*\[(?:parallelism|experimental|activation_checkpoint)\]", re.MULTILINE)
OLDEST_DEGREE = re.compile(
    r"^[ \t]*\[(?:training|experimental)\](?:\r?\n(?![ \t]*\[).*)*\n[ \t]*\w+_(?:parallel|shard)_degree[ \t]*=",
    re.MULTILINE,
)
OWN_TITLE = re.compile(r"_parallel_degree|_shard_degree|local_batch_size|selective_ac_option")
OWN_PYTHON = re.compile(r"\btorchtitan\b|\bParallelismConfig\(|\.parallelism\.\w+_degree\b")
OWN_OPTION = re.compile(r"--(?:parallelism|training|activation_checkpoint)[._]\w+")
TOKENS = re.compile(
    r"num_tokens_per_microbatch_per_dp_rank|max_context_length|num_pp_microbatches|num_tokens_per_train_step"
)
SCHEDULES = {
    "1f1b": "1F1B", "gpipe": "GPipe", "interleaved": "Interleaved1F1B", "zb-v": "ZBVZeroBubble",
    "dualpipe": "DualPipeV",
}  # fmt: skip
COMMON: dict[str, Way] = {
    "tp": number("parallelism.tensor_parallel_degree"),
    "pp": number("parallelism.pipeline_parallel_degree"),
    "cp": number("parallelism.context_parallel_degree"),
    "ep": number("parallelism.expert_parallel_degree"),
    "dp_shard": number("parallelism.data_parallel_shard_degree"),
    "dp_replicate": number("parallelism.data_parallel_replicate_degree"),
    "schedule": choice("parallelism.pipeline_parallel_schedule", SCHEDULES),
    "sharding": either(
        {
            "full": {"parallelism.fsdp_reshard_after_forward": "always"},
            "gradients": {"parallelism.fsdp_reshard_after_forward": "never"},
        },
        lambda texts: {"always": "full", "never": "gradients"}.get(
            texts.get("parallelism.fsdp_reshard_after_forward", "").lower()
        ),
        ("parallelism.fsdp_reshard_after_forward",),
        "fsdp_reshard_after_forward",
    ),
    "precision": choice("training.mixed_precision_param", {"bf16": "bfloat16", "fp32": "float32"}),
    "offload_param": switch("training.enable_cpu_offload"),
    "compile": switch("compile.enable"),
    "learning_rate": number("optimizer.lr"),
    "save_interval": number("checkpoint.interval"),
    "dp": follows(),
    "stack": follows(),
}
DEGREES = (
    "data_parallel_replicate_degree", "data_parallel_shard_degree", "fsdp_reshard_after_forward",
    "tensor_parallel_degree", "pipeline_parallel_degree", "pipeline_parallel_schedule", "context_parallel_degree",
    "expert_parallel_degree", "expert_tensor_parallel_degree",
)  # fmt: skip
PARALLELISM = tuple(f"parallelism.{name}" for name in DEGREES)
ABSENT = {
    "sp": (
        "torchtitan uses sequence parallelism wherever there is tensor parallelism",
        "torchtitan 只要有张量并行就使用序列并行",
    ),
    "offload_optimizer": (
        "torchtitan offloads parameters, gradients and optimizer states together: training.enable_cpu_offload",
        "torchtitan 把参数、梯度与优化器状态一起卸载：training.enable_cpu_offload",
    ),
    "vpp": (
        "torchtitan takes layers of a stage: parallelism.pipeline_parallel_layers_per_stage, with Interleaved1F1B",
        "torchtitan 用每级层数表示：parallelism.pipeline_parallel_layers_per_stage，配合 Interleaved1F1B",
    ),
    "attention": ("torchtitan chooses attention in the model's flavor", "torchtitan 的注意力由模型 flavor 决定"),
    "fused_loss": (
        "torchtitan chooses the loss in code (from 0.3: ChunkedLossWrapper)",
        "torchtitan 的损失在代码中选择（0.3 起：ChunkedLossWrapper）",
    ),
}
NEWER = (
    "not available in torchtitan before 0.1, whose sections this file has",
    "torchtitan 0.1 之前没有此设置，而本文件使用的是旧版段落",
)


def _mode(texts: Texts) -> Any:
    mode = texts.get("activation_checkpoint.mode", "").lower()
    if mode == "selective":
        return "operators" if texts.get("activation_checkpoint.selective_ac_option") == "op" else "selective"
    return mode if mode in ("none", "full") else None


MODE, OPTION = "activation_checkpoint.mode", "activation_checkpoint.selective_ac_option"
OLD_WAYS: dict[str, Way] = {
    **COMMON,
    "etp": number("parallelism.expert_tensor_parallel_degree"),
    "micro_batch": number("training.local_batch_size"),
    "global_batch": number("training.global_batch_size"),
    "seq": number("training.seq_len"),
    "recompute": either(
        {
            "none": {MODE: "none"},
            "selective": {MODE: "selective", OPTION: default("2")},
            "operators": {MODE: "selective", OPTION: "op"},
            "full": {MODE: "full"},
        },
        _mode,
        (MODE, OPTION),
        "activation_checkpoint.mode",
    ),
    "async_save": either(
        {True: {"checkpoint.async_mode": "async"}, False: {"checkpoint.async_mode": "disabled"}},  # type: ignore[dict-item]
        lambda texts: {"async": True, "disabled": False}.get(texts.get("checkpoint.async_mode", "")),
        ("checkpoint.async_mode",),
        "checkpoint.async_mode",
    ),
}
OLD = Dialect(
    title="torchtitan",
    ways=OLD_WAYS,
    aliases={"compile.enable": ("training.compile",)},
    groups=(PARALLELISM, ("training.local_batch_size", "training.global_batch_size", "training.seq_len")),
    absent=ABSENT,
)
# Before 0.1.
OLDEST = Dialect(
    title="torchtitan before 0.1",
    ways={
        "tp": number("training.tensor_parallel_degree"),
        "pp": number("experimental.pipeline_parallel_degree"),
        "cp": number("experimental.context_parallel_degree"),
        "dp_shard": number("training.data_parallel_shard_degree"),
        "dp_replicate": number("training.data_parallel_replicate_degree"),
        "schedule": choice("experimental.pipeline_parallel_schedule", SCHEDULES),
        "micro_batch": number("training.batch_size"),
        "seq": number("training.seq_len"),
        "compile": switch("training.compile"),
        **{
            name: OLD_WAYS[name] for name in ("recompute", "precision", "learning_rate", "save_interval", "dp", "stack")
        },
    },
    absent={**dict.fromkeys(("ep", "etp", "sharding", "global_batch", "offload_param"), NEWER), **ABSENT},
)
NO_LENGTH = (
    "torchtitan counts tokens, and max_context_length is not in this file: tokens = sequences x length",
    "torchtitan 以 token 计数，而本文件没有 max_context_length：token 数 = 序列数 × 长度",
)
POLICY = "activation_checkpoint"
MICRO, STEP, LENGTH = (
    f"training.{name}"
    for name in ("num_tokens_per_microbatch_per_dp_rank", "num_tokens_per_train_step", "max_context_length")
)


def _sequences(key: str) -> Way:
    """Tokens in the file, sequences in neutral terms; `_tokens` makes tokens of what is to be written."""

    def read(texts: Texts) -> Any:
        tokens, length = as_number(texts.get(key)), as_number(texts.get(LENGTH))
        whole = isinstance(tokens, int) and isinstance(length, int) and length > 0 and tokens > 0
        return tokens // length if whole and tokens and length and tokens % length == 0 else None

    return Way((key, LENGTH), lambda value: {key: value}, read)


def _tokens(given: dict[str, Any], now: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
    """Sequences as tokens, which needs their length; where that changes, the batch in tokens changes with it."""
    seq = given.get("seq", now.get("seq"))
    batch = {name: now[name] for name in ("micro_batch", "global_batch") if "seq" in given and name in now}
    batch |= {name: given[name] for name in ("micro_batch", "global_batch") if name in given}
    if batch and not isinstance(seq, int):
        rest = {name: value for name, value in given.items() if name not in batch}
        return rest, [Note(name, f"{name} = {value}: {NO_LENGTH[0]}", f"{name} = {value}：{NO_LENGTH[1]}", False)
                      for name, value in batch.items()]  # fmt: skip
    return given | {name: value * seq for name, value in batch.items()}, []


POLICIES = either(
    {
        "none": {POLICY: Code("None")},
        "selective": {POLICY: Code("SelectiveAC.Config()")},
        "operators": {POLICY: Code("SelectiveAC.Config()")},
        "full": {POLICY: Code("FullAC.Config()")},
    },
    lambda texts: {"None": "none", "SelectiveAC": "operators", "FullAC": "full"}.get(
        texts.get(POLICY, "").split(".")[0]
    ),
    (POLICY,),
    "activation_checkpoint",
)
IMPORTS = dict.fromkeys(("FullAC", "SelectiveAC"), "torchtitan.distributed.activation_checkpoint")
PYTHON = Dialect(
    title="torchtitan",
    ways={
        **{name: OLD_WAYS[name] for name in (*COMMON, "micro_batch", "global_batch", "seq", "async_save")},
        "recompute": POLICIES,
        "sp": switch("parallelism.enable_sequence_parallel"),
    },
    groups=OLD.groups,
    absent={name: said for name, said in ABSENT.items() if name != "sp"},
    imports=IMPORTS,
)
TOKENS_PYTHON = Dialect(
    title=PYTHON.title,
    ways={
        **PYTHON.ways,
        "micro_batch": _sequences(MICRO),
        "global_batch": _sequences(STEP),
        "seq": number(LENGTH),
    },
    groups=(PARALLELISM, (MICRO, STEP, LENGTH)),
    absent=PYTHON.absent,
    imports=IMPORTS,
    prepare=_tokens,
)
# On a command line the policy is a sub-command, which has a place of its own.
TOKENS_OPTIONS = Dialect(
    title=PYTHON.title,
    ways={name: way for name, way in TOKENS_PYTHON.ways.items() if name != "recompute"},
    groups=TOKENS_PYTHON.groups,
    absent={
        **PYTHON.absent,
        "recompute": (
            "activation_checkpoint is a policy object: change it in the configuration that --config names",
            "activation_checkpoint 是策略对象：请在 --config 所指的配置里修改",
        ),
    },
    prepare=_tokens,
)


def _toml(path: str, text: str) -> bool:
    ours = OWN_SECTION.search(text) is not None and OWN_TITLE.search(text) is not None
    return ours and not path.lower().endswith((".py", ".sh", ".yaml", ".yml"))


def _python(path: str, text: str) -> bool:
    return path.lower().endswith(".py") and OWN_PYTHON.search(text) is not None


def _old_options(path: str, text: str) -> bool:
    shell = not path.lower().endswith((".py", ".toml", ".yaml", ".yml", ".json"))
    return shell and OWN_OPTION.search(text) is not None and not _new_options(path, text)


def _new_options(path: str, text: str) -> bool:
    shell = not path.lower().endswith((".py", ".toml", ".yaml", ".yml", ".json"))
    return shell and OWN_OPTION.search(text) is not None and TOKENS.search(text) is not None


SWITCHES = frozenset({"compile.enable", "training.compile", "training.enable_cpu_offload"})
ADAPTER = FileAdapter(
    name="torchtitan",
    forms=(
        Form(
            fits=lambda path, text: _toml(path, text) and OLDEST_DEGREE.search(text) is not None,
            syntax=TomlFile(),
            dialect=OLDEST,
        ),
        Form(fits=_toml, syntax=TomlFile(), dialect=OLD),
        Form(
            fits=lambda path, text: _python(path, text) and TOKENS.search(text) is not None,
            syntax=PythonFile(),
            dialect=TOKENS_PYTHON,
            repeats=Repeats.UNCLEAR,
            null=Code("None"),
        ),
        Form(fits=_python, syntax=PythonFile(), dialect=PYTHON, repeats=Repeats.UNCLEAR, null=Code("None")),
        Form(
            fits=_new_options,
            syntax=CommandLine(switches=SWITCHES, stores_true=True),
            dialect=TOKENS_OPTIONS,
            repeats=Repeats.ALL,
            shell=True,
        ),
        Form(
            fits=_old_options,
            syntax=CommandLine(switches=SWITCHES, stores_true=True),
            dialect=OLD,
            repeats=Repeats.ALL,
            shell=True,
        ),
    ),
)
