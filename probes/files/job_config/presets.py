"""Settings whose value is a word of a framework: presets, strategies, backends and ranges."""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.facts.model import Value
from probes.files.job_config.values import Converter, Reading, count, flag, text, whole

FSDP1_STRATEGIES = {
    "1": "full_shard",
    "2": "shard_grad_op",
    "3": "no_shard",
    "4": "hybrid_shard",
    "5": "hybrid_shard_zero2",
}
MEGATRON_FSDP = {"optim_grads_params": "full_shard", "optim_grads": "shard_grad_op", "optim": "shard_optim"}
SLURM_RESOURCE = re.compile(r"(?:gpu(?::[\w.-]+)?:)?(\d+)")


def node_range(value: str) -> Reading:
    """`4`, `2:4` (elastic) or Slurm's `2-4`."""
    if both := re.fullmatch(r"(\d+)[:-](\d+)", value):
        low, high = int(both[1]), int(both[2])
        if low == high:
            return low or None
        return {"config.nnodes_min": low, "config.nnodes_max": high}
    return count(value)


def processes(value: str) -> Reading:
    """A number of processes, or a list of devices such as `[0, 1]` or `0,1`."""
    if re.fullmatch(r"\[?\s*\d+(\s*,\s*\d+)+\s*\]?", value):
        return len(value.split(","))
    return count(value)


def generic_resource(value: str) -> Reading:
    """GPUs in Slurm's words: `8`, `gpu:8`, `gpu:a100:4`."""
    if found := SLURM_RESOURCE.fullmatch(value.split("(")[0]):
        return int(found[1]) or None
    return None


def ipc_host(value: str) -> Reading:
    return value.lower() == "host"


def layout(value: str) -> Reading:
    return None if value.lower() in ("none", "[]") else True


def by_hand(name: str) -> Converter:
    """A setting `name` that lays the layers out over the stages: a number of layers, or a whole layout."""

    def convert(value: str) -> Reading:
        if value.lower() in ("none", "[]"):
            return None
        given = text(value) if name == "config.pp_layout" else count(value)
        return None if given is None else {name: given, "config.pp_uneven": True}

    return convert


def as_layer(name: str) -> Converter:
    """A switch by which the embedding or the loss counts as one more layer of the pipeline."""

    def convert(value: str) -> Mapping[str, Value]:
        return {name: flag(value), "config.pp_uneven": flag(value)}

    return convert


def ulysses(value: str) -> Reading:
    """Ranks over which a sequence is split and, for attention, the heads (DeepSpeed-Ulysses)."""
    size = count(value)
    return None if size is None else {"config.cp": size, "config.ulysses": size}


def deepspeed(value: str) -> Reading:
    """A DeepSpeed configuration: a path, a preset of ms-swift (`zero3_offload`), or the bare switch."""
    low = value.lower()
    if low in ("true", "false", "none") or not re.fullmatch(r"[\w./~-]+", value):
        return None
    if preset := re.fullmatch(r"zero(\d)(_offload)?", low):
        stage: dict[str, str | int | bool] = {"config.deepspeed_config": value, "config.zero_stage": int(preset[1])}
        return {**stage, "config.offload_optimizer": True} if preset[2] else stage
    return value


def fsdp(value: str) -> Reading:
    """`full_shard auto_wrap offload` (transformers), `fsdp2` (ms-swift, verl), Lightning's and Accelerate's words."""
    low = value.lower().rsplit(".", 1)[-1]
    if low in ("true", "false"):
        return low == "true"
    words = set(re.split(r"[\s,]+", low))
    if stage := re.match(r"deepspeed_stage_(\d)(_offload)?", low):
        return {"config.zero_stage": int(stage[1]), **({"config.offload_optimizer": True} if stage[2] else {})}
    found: dict[str, str | int | bool] = {}
    if strategy := words & {"full_shard", "shard_grad_op", "hybrid_shard", "no_shard", "hybrid_shard_zero2"}:
        found |= {"config.fsdp": True, "config.fsdp_strategy": strategy.pop()}
    if words & {"fsdp", "fsdp1", "fsdp2", "fsdp_native", "modelparallelstrategy"}:
        found["config.fsdp"] = True
    if "fsdp2" in words:
        found["config.fsdp_version"] = 2
    if "offload" in words and found:
        found["config.offload_param"] = True
    if low == "ddp_find_unused_parameters_true":
        found["config.find_unused_parameters"] = True
    return found or None


def sharding(value: str) -> Reading:
    """FSDP's strategy by name or by Accelerate's number; Megatron-FSDP's by what it shards."""
    low = value.lower().rsplit(".", 1)[-1]
    if low in MEGATRON_FSDP:
        return {"config.fsdp": True, "config.fsdp_strategy": MEGATRON_FSDP[low]}
    return text(FSDP1_STRATEGIES.get(low, low.removeprefix("_")))


def gated(value: str) -> Reading:
    """transformers' models with a SiLU-like activation use three matrices; the older GELU ones two."""
    low = value.lower()
    return True if low in ("silu", "swiglu", "swish") else None


def adapter(value: str) -> Reading:
    low = value.lower()
    if "qlora" in low:
        return {"config.lora": True, "config.quantization": "4bit"}
    if any(word in low for word in ("lora", "adapter", "dora", "oft")):
        return True
    return False if low in ("full", "none", "false") else None


def bits(value: str) -> Reading:
    number = whole(value)
    return f"{number}bit" if number in (4, 8) else None


def fp8(value: str) -> Reading:
    return value.lower() not in ("false", "none", "null")


def recompute(value: str) -> Reading:
    low = value.lower()
    if low in ("full", "selective", "none"):
        return low
    return "full" if low in ("true", "uniform", "block") else "none" if low == "false" else "selective"


def attention(value: str) -> Reading:
    """flash, sdpa, eager, fused or flex."""
    low = value.lower().rsplit(".", 1)[-1]
    if low in ("auto", "default"):
        return None
    if "flash" in low or low in ("fa2", "fa3", "true"):
        return "flash"
    return "eager" if low in ("disabled", "off", "false", "vanilla", "unfused", "math") else text(low)


def async_mode(value: str) -> Reading:
    return value.lower() not in ("disabled", "none", "false")


def balancing(value: str) -> Reading:
    """Megatron's router balancing; several kinds may be given as a list."""
    return ",".join(re.findall(r"\w+", value.lower())) or None
