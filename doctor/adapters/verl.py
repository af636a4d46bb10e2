"""verl: hydra overrides on a command line, and YAML; the actor with Megatron or FSDP, and supervised fine-tuning.

Source: verl, trainer/config/engine/{megatron,fsdp}.yaml, actor/*.yaml, model/hf_model.yaml, sft_trainer_engine.yaml.
Settings of the reference model and of rollout are left alone: they follow the actor's where they are not written out.
"""

from __future__ import annotations

import re
from typing import Any

from doctor.adapters import megatron_names as names
from doctor.adapters.dialect import Dialect, Form, Repeats
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.model import Code
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.syntax.yaml_file import YamlFile
from doctor.adapters.trainer_names import checkpointing
from doctor.adapters.ways import Texts, Way, as_switch, choice, either, number, switch

ACTOR = "actor_rollout_ref.actor"
OWN = re.compile(r"actor_rollout_ref|verl\.trainer|^\s*engine\.strategy=", re.MULTILINE)
WITH_MEGATRON = re.compile(
    r"actor\.megatron\.|megatron_trainer|strategy\s*[:=]\s*[\"']?megatron|engine=megatron"
    r"|^\s*(?:- )?megatron\s*:|tensor_model_parallel_size.*\n(?:.*\n)*?.*pipeline_model_parallel_size",
    re.MULTILINE,
)
FINE_TUNING = re.compile(r"sft_trainer|\bengine\.\w+=|^engine\s*:", re.MULTILINE)
PROMPTS = (
    "verl's ppo_mini_batch_size and data.train_batch_size count prompts of rollout.n answers each: change them by hand",
    "verl 的 ppo_mini_batch_size 与 data.train_batch_size 以提示为单位，每个提示有 rollout.n 个回答：请手工修改",
)
DERIVED = (
    "verl derives accumulation steps from ppo_mini_batch_size and ppo_micro_batch_size_per_gpu",
    "verl 的累积步数由 ppo_mini_batch_size 与 ppo_micro_batch_size_per_gpu 得出",
)
NO_DEGREE = (
    "not available with verl's FSDP backend: its Megatron backend has it",
    "verl 的 FSDP 后端没有此设置，Megatron 后端才有",
)
OFFLOADS = ("param_offload", "optimizer_offload", "grad_offload")


def _megatron(section: str, batch: dict[str, Way], model: str) -> Dialect:
    """Names below `section`, where verl keeps the settings of Megatron."""
    inner = f"{section}override_transformer_config."
    recompute = names.recomputation(inner)
    ways: dict[str, Way] = {
        **names.degrees(section),
        **names.chunks(f"{section}virtual_pipeline_model_parallel_size"),
        **recompute,
        **{knob: way for knob, way in names.kernels(inner).items() if knob == "attention"},
        "precision": choice(f"{section}dtype", {"bf16": "bfloat16", "fp16": "float16"}),
        "sharding": either(
            {
                "optimizer": {f"{section}use_distributed_optimizer": True},
                "none": {f"{section}use_distributed_optimizer": False},
            },
            lambda texts: {True: "optimizer", False: "none", None: None}[
                as_switch(texts.get(f"{section}use_distributed_optimizer"))
            ],
            (f"{section}use_distributed_optimizer",),
            "use_distributed_optimizer",
        ),
        "offload_optimizer": switch(f"{section}optimizer_offload"),
        "offload_param": switch(f"{section}param_offload"),
        "fused_loss": switch(f"{model}use_fused_kernels"),
        **batch,
    }
    degrees = (*names.PARALLEL, "virtual_pipeline_model_parallel_size", *OFFLOADS)
    return Dialect(
        title="verl with Megatron",
        ways=ways,
        groups=(tuple(f"{section}{name}" for name in degrees), tuple(f"{inner}{name}" for name in names.RECOMPUTE)),
        absent={} if "global_batch" in batch else {"global_batch": PROMPTS, "grad_accum": DERIVED},
    )


def _fsdp(section: str, batch: dict[str, Way], model: str, ulysses: str) -> Dialect:
    """Names below `section`, where verl keeps the settings of FSDP."""

    def resharding(texts: Texts) -> Any:
        return {True: "full", False: "gradients", None: None}[as_switch(texts.get(f"{section}reshard_after_forward"))]

    return Dialect(
        title="verl with FSDP",
        ways={
            "cp": number(ulysses),
            "dp_shard": number(f"{section}fsdp_size"),
            "sharding": either(
                {
                    "full": {f"{section}reshard_after_forward": True},
                    "gradients": {f"{section}reshard_after_forward": False},
                },
                resharding,
                (f"{section}reshard_after_forward",),
                "reshard_after_forward",
            ),
            "recompute": checkpointing(f"{model}enable_gradient_checkpointing"),
            "precision": choice(f"{section}dtype", {"bf16": "bfloat16", "fp16": "float16"}),
            "offload_optimizer": switch(f"{section}optimizer_offload"),
            "offload_param": switch(f"{section}param_offload"),
            "fused_loss": switch(f"{model}use_fused_kernels"),
            **batch,
        },
        groups=(
            tuple(f"{section}{name}" for name in (*OFFLOADS, "fsdp_size", "reshard_after_forward", "model_dtype")),
            (f"{model}enable_gradient_checkpointing", f"{model}use_fused_kernels", f"{model}path"),
        ),
        absent={
            **dict.fromkeys(("tp", "pp", "ep", "etp", "vpp", "sp"), NO_DEGREE),
            **({} if "global_batch" in batch else {"global_batch": PROMPTS, "grad_accum": DERIVED}),
        },
    )


ACTOR_BATCH = {"micro_batch": number(f"{ACTOR}.ppo_micro_batch_size_per_gpu")}
TUNING_BATCH = {
    "micro_batch": number("data.micro_batch_size_per_gpu"),
    "global_batch": number("data.train_batch_size"),
    "seq": number("data.max_length"),
}
MODEL = "actor_rollout_ref.model."
DIALECTS = {
    (False, False): _fsdp(f"{ACTOR}.fsdp_config.", ACTOR_BATCH, MODEL, f"{ACTOR}.ulysses_sequence_parallel_size"),
    (False, True): _megatron(f"{ACTOR}.megatron.", ACTOR_BATCH, MODEL),
    (True, False): _fsdp("engine.", TUNING_BATCH, "model.", "engine.ulysses_sequence_parallel_size"),
    (True, True): _megatron("engine.", TUNING_BATCH, "model."),
}


def _forms(tuning: bool, megatron: bool) -> tuple[Form, Form]:
    def fits(path: str, text: str) -> bool:
        kind = (FINE_TUNING.search(text) is not None, WITH_MEGATRON.search(text) is not None)
        return OWN.search(text) is not None and kind == (tuning, megatron)

    def yaml(path: str, text: str) -> bool:
        return path.lower().endswith((".yaml", ".yml")) and fits(path, text)

    def command(path: str, text: str) -> bool:
        return not path.lower().endswith((".py", ".json", ".toml", ".yaml", ".yml")) and fits(path, text)

    dialect = DIALECTS[tuning, megatron]
    line = CommandLine(overrides=True)
    return (
        Form(fits=yaml, syntax=YamlFile(), dialect=dialect, null=Code("null")),
        Form(fits=command, syntax=line, dialect=dialect, repeats=Repeats.ALL, shell=True, null=Code("null")),
    )


ADAPTER = FileAdapter(
    name="verl",
    forms=tuple(form for kind in DIALECTS for form in _forms(*kind)),
)
