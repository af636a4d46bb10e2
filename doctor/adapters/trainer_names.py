"""Names of transformers' TrainingArguments, as its own scripts, TRL, LLaMA-Factory and ms-swift share them.

Source: transformers, training_args.py.
"""

from __future__ import annotations

from typing import Any

from doctor.adapters.ways import (
    Texts,
    Wanted,
    Way,
    as_switch,
    either,
    follows,
    instead,
    number,
    switch,
    where_there,
)

BATCH = ("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps")
NUMERICS = ("bf16", "fp16", "gradient_checkpointing", "use_liger_kernel", "torch_compile")
LOADER = ("dataloader_num_workers", "dataloader_pin_memory")
SWITCHES = frozenset(
    {
        "bf16", "fp16", "gradient_checkpointing", "use_liger_kernel", "torch_compile", "dataloader_pin_memory",
        "do_train", "do_eval", "overwrite_output_dir", "tf32", "group_by_length", "packing", "load_in_4bit",
        "load_in_8bit", "use_peft", "trust_remote_code", "push_to_hub", "remove_unused_columns", "full_determinism",
        "ddp_find_unused_parameters", "save_only_model", "load_best_model_at_end",
    }
)  # fmt: skip


def checkpointing(key: str, when: bool = True) -> Way:
    """Recomputation of whole layers, on when the switch `key` is `when`."""

    def read(texts: Texts) -> Any:
        value = as_switch(texts.get(key))
        return None if value is None else "full" if value is when else "none"

    return either({"full": {key: when}, "none": {key: not when}}, read, (key,), key)


def precision() -> Way:
    def read(texts: Texts) -> Any:
        return "bf16" if as_switch(texts.get("bf16")) else "fp16" if as_switch(texts.get("fp16")) else None

    off: Wanted = {"bf16": instead("true", False), "fp16": instead("true", False)}
    names: dict[str, Wanted] = {"bf16": {**off, "bf16": True}, "fp16": {**off, "fp16": True}, "fp32": off}
    return either(names, read, ("bf16", "fp16"), "bf16 and fp16")


def attention(key: str, names: dict[str, str], en: str = "", zh: str = "") -> Way:
    """Attention kernels by the framework's words; with `en` and `zh`, only where the file has the setting."""
    back = {word: neutral for neutral, word in names.items()} | {
        "sdpa": "flash", "kernels": "flash", "flash_attention_3": "flash", "fa3": "flash", "flash_attn": "flash",
    }  # fmt: skip

    def write(value: Any) -> Wanted:
        return {key: where_there(names[value], en, zh) if en else names[value]}

    return Way((key,), write, lambda texts: back.get(texts.get(key, "").lower()))


WAYS: dict[str, Way] = {
    "micro_batch": number("per_device_train_batch_size"),
    "grad_accum": number("gradient_accumulation_steps"),
    "precision": precision(),
    "recompute": checkpointing("gradient_checkpointing"),
    "fused_loss": switch("use_liger_kernel"),
    "loss": either(
        {"fused": {"use_liger_kernel": True}, "eager": {"use_liger_kernel": False}},
        lambda texts: None,
        (),
        "use_liger_kernel",
    ),
    "compile": switch("torch_compile"),
    "num_workers": number("dataloader_num_workers"),
    "pin_memory": switch("dataloader_pin_memory"),
    "learning_rate": number("learning_rate"),
    "save_interval": number("save_steps"),
    "dp": follows(),
    "stack": follows(),
}
ELSEWHERE = (
    "set in the file that --deepspeed or accelerate's --config_file names",
    "在 --deepspeed 或 accelerate --config_file 所指的文件中设置",
)
DEGREES = (
    "transformers' trainer has no such argument: it is set in accelerate's parallelism_config or in code",
    "transformers 的 Trainer 没有此参数：在 accelerate 的 parallelism_config 或代码中设置",
)
ABSENT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("sharding", "offload_optimizer", "offload_param", "reduce_bucket", "allgather_bucket"), ELSEWHERE),
    **dict.fromkeys(("tp", "pp", "cp", "ep", "etp", "vpp", "sp", "dp_shard", "dp_replicate"), DEGREES),
    "global_batch": (
        "the trainer derives it: per_device_train_batch_size x gradient_accumulation_steps x data-parallel ranks",
        "由 per_device_train_batch_size × gradient_accumulation_steps × 数据并行数得出",
    ),
}
