"""Megatron's names, as its own arguments, Megatron-Bridge, NeMo, ms-swift and verl share them.

Source: Megatron-LM, megatron/training/arguments.py, core/model_parallel_config.py, core/transformer/
transformer_config.py. `model`, `train` and the others are prefixes of the sections that hold the settings.
"""

from __future__ import annotations

from typing import Any

from doctor.adapters.ways import (
    Texts,
    Wanted,
    Way,
    as_number,
    as_switch,
    choice,
    default,
    either,
    follows,
    instead,
    number,
    switch,
    words,
)

PARALLEL = (
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
    "expert_model_parallel_size", "expert_tensor_parallel_size", "sequence_parallel",
)  # fmt: skip
RECOMPUTE = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")
BATCH = ("micro_batch_size", "global_batch_size")
OPTIMIZER = ("use_distributed_optimizer", "overlap_grad_reduce", "overlap_param_gather", "optimizer_cpu_offload")
NUMERICS = ("bf16", "fp16", "fp8_format")
STRATEGIES = {"optim_grads": "gradients", "optim_grads_params": "full", "optim": "optimizer", "no_shard": "none"}


def degrees(model: str = "") -> dict[str, Way]:
    """Degrees of parallelism, without interleaving."""
    return {
        "tp": number(f"{model}tensor_model_parallel_size"),
        "pp": number(f"{model}pipeline_model_parallel_size"),
        "cp": number(f"{model}context_parallel_size"),
        "ep": number(f"{model}expert_model_parallel_size"),
        "etp": number(f"{model}expert_tensor_parallel_size"),
        "sp": switch(f"{model}sequence_parallel"),
        "dp": follows(),
        "stack": follows(),
        "schedule": either({"1f1b": {}, "interleaved": {}}, lambda texts: None, (), "the pipeline schedule"),
    }


def stage_ends(model: str, first: str, last: str) -> dict[str, Way]:
    """Layers of the first and the last pipeline stage."""
    return {"first": number(f"{model}{first}", off=0), "last": number(f"{model}{last}", off=0)}


def recomputation(model: str = "") -> dict[str, Way]:
    """What is recomputed. `recompute_layers` counts layers of a stage, which Megatron calls the method `block`."""
    granularity, method, layers, modules = (f"{model}{name}" for name in RECOMPUTE)

    def read(texts: Texts) -> Any:
        value = texts.get(granularity, "").lower()
        if value == "selective":
            named = set(texts.get(modules, "core_attn").replace(",", " ").strip("[]\"' ").split())
            return "selective" if {name.strip("\"'") for name in named} == {"core_attn"} else "modules"
        return {"full": "full", "none": "none", "null": "none"}.get(value)

    def write_layers(value: Any) -> Wanted:
        return {method: "block", layers: value} if value else {}

    def read_layers(texts: Texts) -> Any:
        return as_number(texts.get(layers)) if texts.get(method) == "block" else None

    plain: Wanted = {granularity: "selective", method: None, layers: None}
    return {
        "recompute": either(
            {
                "none": {granularity: None, method: None, layers: None, modules: None},
                "selective": {**plain, modules: None},
                "modules": plain,
                "full": {granularity: "full", method: default("uniform"), layers: default(1), modules: None},
            },
            read,
            (granularity, modules),
            "recompute_granularity",
        ),
        "recompute_layers": Way((layers, method), write_layers, read_layers),
        "recompute_modules": words(modules),
    }


def precision(model: str = "", fp8: str = "fp8_format") -> dict[str, Way]:
    """bf16 and fp16 are switches; FP8 is a format on top of bf16."""
    bf16, fp16, fp8 = f"{model}bf16", f"{model}fp16", f"{model}{fp8}"

    def read(texts: Texts) -> Any:
        if texts.get(fp8, "none").lower() not in ("none", "null", "false", ""):
            return "fp8"
        return "bf16" if as_switch(texts.get(bf16)) else "fp16" if as_switch(texts.get(fp16)) else None

    plain: Wanted = {bf16: instead("true", False), fp16: instead("true", False), fp8: None}
    names: dict[str, Wanted] = {
        "bf16": {**plain, bf16: True},
        "fp16": {**plain, fp16: True},
        "fp32": plain,
        "fp8": {bf16: True, fp16: instead("true", False), fp8: default("hybrid")},
    }
    return {"precision": either(names, read, (bf16, fp16, fp8), "precision")}


def kernels(model: str = "") -> dict[str, Way]:
    """Attention and loss. `fused` and `flash` both never keep the scores."""
    fusion = f"{model}cross_entropy_loss_fusion"
    backends, others = {"flash": "flash", "unfused": "unfused"}, {"fused": "flash", "local": "unfused"}
    losses: dict[str, Wanted] = {
        "vocab_parallel": {fusion: False},
        "eager": {fusion: False},
        "fused": {fusion: True},
    }
    return {
        "attention": choice(f"{model}attention_backend", backends, others),
        "fused_loss": switch(fusion),
        "loss": either(losses, lambda texts: None, (), "cross_entropy_loss_fusion"),
    }


def sharding(ddp: str = "", checkpoint: str | None = None) -> dict[str, Way]:
    """The distributed optimizer, and Megatron-FSDP where gradients or parameters are sharded too.

    checkpoint: the setting of the checkpoint format; Megatron-FSDP takes `fsdp_dtensor` only.
    """
    optimizer, fsdp, strategy = (
        f"{ddp}{name}" for name in ("use_distributed_optimizer", "use_megatron_fsdp", "data_parallel_sharding_strategy")
    )
    without: Wanted = {fsdp: instead("true", False), strategy: None}
    within: Wanted = {optimizer: True, fsdp: True}
    if checkpoint:
        without = {**without, checkpoint: instead("fsdp_dtensor", "torch_dist")}
        within = {**within, checkpoint: "fsdp_dtensor"}

    def read(texts: Texts) -> Any:
        if as_switch(texts.get(fsdp)):
            return STRATEGIES.get(texts.get(strategy, "optim_grads_params"))
        distributed = as_switch(texts.get(optimizer))
        return None if distributed is None else "optimizer" if distributed else "none"

    return {
        "sharding": either(
            {
                "none": {**without, optimizer: False},
                "optimizer": {**without, optimizer: True},
                "gradients": {**within, strategy: "optim_grads"},
                "full": {**within, strategy: "optim_grads_params"},
            },
            read,
            (optimizer, fsdp, strategy),
            "data_parallel_sharding_strategy",
        )
    }


def offload(optim: str = "") -> dict[str, Way]:
    """Optimizer states in host memory; Megatron asks for the precision-aware optimizer with it."""
    key, aware = f"{optim}optimizer_cpu_offload", f"{optim}use_precision_aware_optimizer"

    def write(value: Any) -> Wanted:
        return {aware: True, key: True} if value else {key: False}

    return {"offload_optimizer": Way((key,), write, lambda texts: as_switch(texts.get(key)))}


def chunks(key: str, others: tuple[str, ...] = ()) -> dict[str, Way]:
    """Interleaved stages; `others` are settings that say the same in another way and exclude it."""

    def write(value: Any) -> Wanted:
        gone: dict[str, None] = dict.fromkeys(others)
        return {key: None if value == 1 else value, **gone}

    return {"vpp": Way((key,), write, lambda texts: as_number(texts.get(key)))}
