"""Accelerate's YAML, one form a plugin: FSDP 1, FSDP 2, DeepSpeed, Megatron-LM.

Source: accelerate, commands/launch.py and commands/config/config_args.py (keys), utils/dataclasses.py (FSDP 2 takes
reshard_after_forward in place of a strategy), parallelism_config.py (works with FSDP 2 alone).
"""

from __future__ import annotations

import re
from typing import Any

from doctor.adapters.deepspeed import device, stages
from doctor.adapters.dialect import Dialect, Form
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.syntax.yaml_file import YamlFile
from doctor.adapters.ways import Texts, Way, as_number, as_switch, choice, either, follows, number, switch

OWN_KEY = re.compile(
    r"^[\t ]*(?:compute_environment|distributed_type|downcast_bf16|fsdp_config|deepspeed_config|parallelism_config"
    r"|megatron_lm_config)\s*:",
    re.MULTILINE,
)
FSDP, ZERO, MEGATRON = "fsdp_config.fsdp_", "deepspeed_config.", "megatron_lm_config.megatron_lm_"
MESH = "parallelism_config.parallelism_config_"
SCRIPT = (
    "set in the training script or its arguments, not in accelerate's file",
    "在训练脚本或其参数中设置，不在 accelerate 的文件里",
)
PLUGIN = (
    "not available in accelerate with this plugin: parallelism_config needs FSDP 2 (fsdp_version: 2)",
    "accelerate 的这个插件没有此设置：parallelism_config 需要 FSDP 2（fsdp_version: 2）",
)
COMMON: dict[str, Way] = {
    "precision": choice("mixed_precision", {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "fp32": "no"}),
    "dp": follows(),
    "stack": follows(),
}
IN_SCRIPT = dict.fromkeys(
    ("micro_batch", "global_batch", "grad_accum", "seq", "attention", "loss", "fused_loss", "num_workers", "optimizer"),
    SCRIPT,
)
DEGREES = dict.fromkeys(("tp", "cp", "pp", "ep", "etp", "vpp", "sp", "dp_shard", "dp_replicate"), PLUGIN)


def _strategy(texts: Texts) -> Any:
    word = texts.get(f"{FSDP}sharding_strategy", "").lower()
    by_number = {1: "full_shard", 2: "shard_grad_op", 3: "no_shard"}.get(int(as_number(word) or 0), word)
    return {"full_shard": "full", "shard_grad_op": "gradients", "no_shard": "none"}.get(by_number)


def _resharding(texts: Texts) -> Any:
    return {True: "full", False: "gradients", None: None}[as_switch(texts.get(f"{FSDP}reshard_after_forward"))]


def _checkpointing(key: str) -> Way:
    def read(texts: Texts) -> Any:
        return {True: "full", False: "none", None: None}[as_switch(texts.get(key))]

    return either({"full": {key: True}, "none": {key: False}}, read, (key,), key)


FSDP_WAYS: dict[str, Way] = {
    **COMMON,
    "recompute": _checkpointing(f"{FSDP}activation_checkpointing"),
    "offload_param": switch(f"{FSDP}offload_params"),
}
FSDP_ABSENT = IN_SCRIPT | {
    "offload_optimizer": (
        "FSDP offloads parameters, gradients and optimizer states together: fsdp_offload_params",
        "FSDP 把参数、梯度与优化器状态一起卸载：fsdp_offload_params",
    )
}
FSDP1 = Dialect(
    title="accelerate with FSDP 1",
    ways={
        **FSDP_WAYS,
        "sharding": either(
            {
                "full": {f"{FSDP}sharding_strategy": "FULL_SHARD"},
                "gradients": {f"{FSDP}sharding_strategy": "SHARD_GRAD_OP"},
                "none": {f"{FSDP}sharding_strategy": "NO_SHARD"},
            },
            _strategy,
            (f"{FSDP}sharding_strategy",),
            "fsdp_sharding_strategy",
        ),
    },
    absent=FSDP_ABSENT | DEGREES,
)
FSDP2 = Dialect(
    title="accelerate with FSDP 2",
    ways={
        **FSDP_WAYS,
        "sharding": either(
            {
                "full": {f"{FSDP}reshard_after_forward": True},
                "gradients": {f"{FSDP}reshard_after_forward": False},
            },
            _resharding,
            (f"{FSDP}reshard_after_forward",),
            "fsdp_reshard_after_forward",
        ),
        "tp": number(f"{MESH}tp_size"),
        "cp": number(f"{MESH}cp_size"),
        "dp_shard": number(f"{MESH}dp_shard_size"),
        "dp_replicate": number(f"{MESH}dp_replicate_size"),
    },
    absent=FSDP_ABSENT
    | {
        "pp": ("accelerate has no pipeline parallelism with FSDP 2", "accelerate 的 FSDP 2 没有流水线并行"),
        "sp": (
            "accelerate's sp_size means DeepSpeed-Ulysses, not Megatron's sequence parallelism",
            "accelerate 的 sp_size 指 DeepSpeed-Ulysses，不是 Megatron 的序列并行",
        ),
    },
)
DEEPSPEED = Dialect(
    title="accelerate with DeepSpeed",
    ways={
        **COMMON,
        "sharding": stages(f"{ZERO}zero_stage"),
        "grad_accum": number(f"{ZERO}gradient_accumulation_steps"),
        "offload_optimizer": device(f"{ZERO}offload_optimizer_device"),
        "offload_param": device(f"{ZERO}offload_param_device"),
    },
    absent={**IN_SCRIPT, **DEGREES, "recompute": SCRIPT},
)
FROM_FILE = (
    "set in the DeepSpeed file that deepspeed_config_file names",
    "在 deepspeed_config_file 所指的 DeepSpeed 文件中设置",
)
DEEPSPEED_FILE = Dialect(
    title="accelerate with a DeepSpeed file",
    ways=COMMON,
    absent={
        **IN_SCRIPT,
        **DEGREES,
        "recompute": SCRIPT,
        **dict.fromkeys(("sharding", "grad_accum", "micro_batch", "offload_optimizer", "offload_param"), FROM_FILE),
    },
)
MEGATRON_LM = Dialect(
    title="accelerate with Megatron-LM",
    ways={
        **COMMON,
        "tp": number(f"{MEGATRON}tp_degree"),
        "pp": number(f"{MEGATRON}pp_degree"),
        "cp": number(f"{MEGATRON}context_parallel_size"),
        "ep": number(f"{MEGATRON}expert_model_parallel_size"),
        "etp": number(f"{MEGATRON}expert_tensor_parallel_size"),
        "sp": switch(f"{MEGATRON}sequence_parallelism"),
        "grad_accum": number(f"{MEGATRON}num_micro_batches"),
        "offload_optimizer": switch(f"{MEGATRON}optimizer_cpu_offload"),
        "sharding": either(
            {
                "optimizer": {f"{MEGATRON}use_distributed_optimizer": True},
                "none": {f"{MEGATRON}use_distributed_optimizer": False},
            },
            lambda texts: {True: "optimizer", False: "none", None: None}[
                as_switch(texts.get(f"{MEGATRON}use_distributed_optimizer"))
            ],
            (f"{MEGATRON}use_distributed_optimizer",),
            "megatron_lm_use_distributed_optimizer",
        ),
    },
    absent=IN_SCRIPT,
)
PLAIN = Dialect(title="accelerate", ways=COMMON, absent={**IN_SCRIPT, **DEGREES, "recompute": SCRIPT})


def _of(distributed_type: str, also: str = "") -> Any:
    type_line = re.compile(
        rf"^[\t ]*distributed_type\s*:\s*[\"']?(?:{distributed_type})\b", re.MULTILINE | re.IGNORECASE
    )
    further = re.compile(also, re.MULTILINE)

    def fits(path: str, text: str) -> bool:
        yaml = not path.lower().endswith((".json", ".sh", ".py", ".toml")) and OWN_KEY.search(text) is not None
        return yaml and type_line.search(text) is not None and further.search(text) is not None

    return fits


ADAPTER = FileAdapter(
    name="accelerate",
    forms=(
        Form(fits=_of("DEEPSPEED", r"^\s+deepspeed_config_file\s*:\s*\S"), syntax=YamlFile(), dialect=DEEPSPEED_FILE),
        Form(fits=_of("DEEPSPEED"), syntax=YamlFile(), dialect=DEEPSPEED),
        Form(fits=_of("FSDP", r"^\s+fsdp_version\s*:\s*[\"']?2"), syntax=YamlFile(), dialect=FSDP2),
        Form(fits=_of("FSDP"), syntax=YamlFile(), dialect=FSDP1),
        Form(fits=_of("MEGATRON_LM"), syntax=YamlFile(), dialect=MEGATRON_LM),
        Form(fits=_of(r"[\w-]+"), syntax=YamlFile(), dialect=PLAIN),
    ),
)
