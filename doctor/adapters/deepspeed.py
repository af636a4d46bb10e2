"""DeepSpeed's JSON configuration.

Source: DeepSpeed, runtime/config.py (the batch triangle, precision), runtime/zero/config.py (stage, offload, buckets),
runtime/tensor_parallel/config.py (autotp_size).
"""

from __future__ import annotations

import re
from typing import Any

from doctor.adapters.dialect import Dialect, Form
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.syntax.json_file import JsonFile
from doctor.adapters.ways import (
    Texts,
    Wanted,
    Way,
    as_number,
    as_switch,
    either,
    follows,
    instead,
    number,
    switch,
    unless,
)

OWN_KEY = re.compile(
    r"\"(?:zero_optimization|train_micro_batch_size_per_gpu|train_batch_size|gradient_accumulation_steps"
    r"|wall_clock_breakdown|zero_allow_untested_optimizer)\"\s*:"
)
ZERO = "zero_optimization"
STAGES = ("none", "optimizer", "gradients", "full")


def stages(key: str) -> Way:
    """ZeRO's stage: 1 shares out optimizer states, 2 gradients too, 3 parameters too."""

    def read(texts: Texts) -> Any:
        stage = as_number(texts.get(key))
        return STAGES[stage] if stage in (0, 1, 2, 3) and isinstance(stage, int) else None

    return Way((key,), lambda value: {key: STAGES.index(value)}, read)


def device(key: str) -> Way:
    """Where states live that do not stay on the GPU: cpu, nvme, none."""

    def write(value: Any) -> Wanted:
        return {key: unless(("cpu", "nvme"), "cpu")} if value else {key: off}

    def off(now: str | None) -> Any:
        return "none" if now is not None else None

    def read(texts: Texts) -> Any:
        return {"cpu": True, "nvme": True, "none": False}.get(texts.get(key, "").lower())

    return Way((key,), write, read)


def _precision(texts: Texts) -> Any:
    for name in ("bf16", "fp16"):
        if as_switch(texts.get(f"{name}.enabled")):
            return name
    return None


OFF: Wanted = {"bf16.enabled": instead("true", False), "fp16.enabled": instead("true", False)}
WAYS: dict[str, Way] = {
    "sharding": stages(f"{ZERO}.stage"),
    "micro_batch": number("train_micro_batch_size_per_gpu"),
    "grad_accum": number("gradient_accumulation_steps"),
    "global_batch": number("train_batch_size"),
    "precision": either(
        {"bf16": {**OFF, "bf16.enabled": True}, "fp16": {**OFF, "fp16.enabled": True}, "fp32": OFF},
        _precision,
        ("bf16.enabled", "fp16.enabled"),
        "DeepSpeed's precision",
    ),
    "offload_optimizer": device(f"{ZERO}.offload_optimizer.device"),
    "offload_param": device(f"{ZERO}.offload_param.device"),
    "reduce_bucket": number(f"{ZERO}.reduce_bucket_size"),
    "allgather_bucket": number(f"{ZERO}.allgather_bucket_size"),
    "tp": number("tensor_parallel.autotp_size"),
    "overlap_grad_reduce": switch(f"{ZERO}.overlap_comm"),
    "dp": follows(),
    "stack": follows(),
}
BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
TRAINER = (
    "the trainer fills it in; change its own argument (per_device_train_batch_size, gradient_accumulation_steps, bf16)",
    "由训练器填入；请修改训练器自己的参数（per_device_train_batch_size、gradient_accumulation_steps、bf16）",
)
IN_CODE = ("set in code, not in DeepSpeed's JSON", "在代码中设置，不在 DeepSpeed 的 JSON 里")
DIALECT = Dialect(
    title="DeepSpeed's JSON",
    ways=WAYS,
    groups=(BATCH, tuple(key for way in WAYS.values() for key in way.keys if key.startswith(f"{ZERO}."))),
    absent={
        "pp": (
            "DeepSpeed takes the number of stages in code: PipelineModule(num_stages=...)",
            "DeepSpeed 的流水线级数在代码中给出：PipelineModule(num_stages=...)",
        ),
        "vpp": ("DeepSpeed's pipeline does not interleave", "DeepSpeed 的流水线不支持交错"),
        "ep": ("DeepSpeed takes it in code: MoE(ep_size=...)", "DeepSpeed 在代码中给出：MoE(ep_size=...)"),
        "recompute": (
            "switched on in the model or the trainer (gradient_checkpointing), not in DeepSpeed's JSON",
            "在模型或训练器中打开（gradient_checkpointing），不在 DeepSpeed 的 JSON 里",
        ),
        **dict.fromkeys(("attention", "loss", "fused_loss", "seq", "compile", "num_workers"), IN_CODE),
    },
    keep={"auto": TRAINER},
)


def _fits(path: str, text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("{") and OWN_KEY.search(text) is not None


ADAPTER = FileAdapter(name="deepspeed", forms=(Form(fits=_fits, syntax=JsonFile(), dialect=DIALECT),))
