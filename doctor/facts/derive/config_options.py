"""Options of a configuration that exclude or need each other, and options that do nothing where they stand.

Megatron-LM's own scripts state every switch that is on, so for them a switch that is not read is off; for frameworks
that bring defaults of their own only what is stated counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from doctor.facts.derive.config_arithmetic import sources
from doctor.facts.derive.config_faults import STARTED, Sizes
from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

OPTIONS = tuple(
    f"config.{name}"
    for name in (
        *("framework", "tp", "pp", "cp", "ep", "vpp", "sequence_parallel", "distributed_optimizer", "megatron_fsdp"),
        *("torch_fsdp2", "fsdp", "fsdp_version", "fsdp_sync_module_states", "state_dict_type", "optimizer"),
        *("overlap_param_gather", "overlap_grad_reduce", "tp_comm_overlap", "recompute", "recompute_method"),
        *("recompute_layers", "hidden_size", "num_heads", "head_dim", "seq_len", "max_positions", "precision", "fp8"),
        *("loss_scale", "num_experts", "moe_capacity_factor", "moe_pad_to_capacity", "moe_balancing", "zero_stage"),
        *("reentrant", "find_unused_parameters", "gpu_model", "learning_rate"),
    )
)
NEEDS = (
    *OPTIONS,
    *("env.CUDA_DEVICE_MAX_CONNECTIONS", "gpu.name", "run.steps", *(f"event:{name}" for name in STARTED)),
)
GIVES = ("config.options_fault", "config.options_note", "config.options_idle", "config.connections_fault")

Check: TypeAlias = Callable[[Sizes], Iterator[str]]

CAPABILITY = (
    (r"\bP(?:4|40|100)\b", 6.0),
    (r"V100|TITAN V\b", 7.0),
    (r"\bT4\b|RTX ?20\d\d|QUADRO RTX|TITAN RTX", 7.5),
    (r"A(?:100|800)|\bA30\b", 8.0),
    (r"\bA(?:2|10|10G|16|40)\b|RTX ?A\d{4}|RTX ?30\d\d", 8.6),
    (r"\bL(?:4|20|40|40S)\b|RTX ?40\d\d|RTX 6000 ADA", 8.9),
    (r"H(?:20|100|200|800)|GH200", 9.0),
    (r"G?B(?:100|200|300)", 10.0),
)
"""Compute capability by model name (https://developer.nvidia.com/cuda-gpus)."""
DROPPING = ("aux_loss", "seq_aux_loss", "global_aux_loss", "none")
"""Balancing that Megatron Core combines with a capacity (transformer_config.py)."""


def capability(name: str) -> float | None:
    """Compute capability of the GPU that `name` names; None for an unknown one."""
    return next((value for pattern, value in CAPABILITY if re.search(pattern, name.upper())), None)


def overlap(sizes: Sizes) -> Iterator[str]:
    """Megatron-LM, training/arguments.py: what overlaps needs what it overlaps with."""
    if sizes.framework() != "megatron":
        return
    sharded = sizes.on("distributed_optimizer") or sizes.on("megatron_fsdp") or sizes.get("optimizer") == "dist_muon"
    if sizes.on("overlap_param_gather") and not sharded:
        yield "--overlap-param-gather needs --use-distributed-optimizer"
    if sizes.on("overlap_param_gather") and not sizes.on("overlap_grad_reduce"):
        yield "--overlap-param-gather needs --overlap-grad-reduce"
    if sizes.on("tp_comm_overlap") and not (sizes.on("sequence_parallel") and sizes.degree("tp") > 1):
        yield "--tp-comm-overlap needs --sequence-parallel and TP above 1"


def recomputation(sizes: Sizes) -> Iterator[str]:
    """Megatron Core, TransformerConfig: full recomputation has a method and a number of layers, selective none."""
    kind = sizes.store.get("config.recompute")
    if sizes.framework() != "megatron" or kind is None or not re.search(r"recompute.granularity", kind.source.text):
        return
    method, layers = sizes.get("recompute_method"), sizes.get("recompute_layers")
    if sizes.get("recompute") == "full":
        missing = [name for name, value in (("method", method), ("num-layers", layers)) if value is None]
        if missing:
            yield "--recompute-granularity full needs " + " and ".join(f"--recompute-{name}" for name in missing)
    elif sizes.get("recompute") == "selective":
        yield from (
            f"--recompute-granularity selective excludes --recompute-{name} {value}"
            for name, value in (("method", method), ("num-layers", layers))
            if value is not None
        )


def shape(sizes: Sizes) -> Iterator[str]:
    """Megatron-LM, training/arguments.py: whole heads, and positions for the whole sequence."""
    if sizes.framework() != "megatron":
        return
    hidden, heads = sizes.count("hidden_size"), sizes.count("num_heads")
    if heads and hidden % heads and sizes.store.get("config.head_dim") is None:
        yield f"hidden size {hidden} is not divisible by {heads} heads, and --kv-channels is not given"
    length, positions = sizes.count("seq_len"), sizes.count("max_positions")
    if positions and length > positions:
        yield f"--seq-length {length} exceeds --max-position-embeddings {positions}"


def experts(sizes: Sizes) -> Iterator[str]:
    """Megatron Core: MoELayer.forward, TransformerConfig."""
    if sizes.framework() != "megatron":
        return
    number, tp = sizes.count("num_experts"), sizes.count("tp")
    trains = sizes.store.get("config.learning_rate") is not None  # inference needs no sequence parallelism
    if trains and number > 1 and tp > 1 and not sizes.on("sequence_parallel"):
        yield f"{number} experts with TP {tp} need --sequence-parallel"
    capacity = sizes.get("moe_capacity_factor")
    kinds = str(sizes.get("moe_balancing") or "none").split(",")
    if isinstance(capacity, float) and capacity >= 0 and not set(kinds) <= set(DROPPING):
        yield f"an expert capacity of {capacity:g} excludes {' '.join(sorted(set(kinds) - set(DROPPING)))} balancing"
    if sizes.on("moe_pad_to_capacity") and capacity is None:
        yield "--moe-pad-expert-input-to-capacity needs --moe-expert-capacity-factor"


def torch_fsdp2(sizes: Sizes) -> Iterator[str]:
    """Megatron-LM, training/arguments.py, --use-torch-fsdp2."""
    if not sizes.on("torch_fsdp2"):
        return
    yield from (
        f"--use-torch-fsdp2 excludes {name} {degree}"
        for name, degree in (("PP", sizes.count("pp")), ("EP", sizes.count("ep")))
        if degree > 1
    )
    if sizes.on("distributed_optimizer"):
        yield "--use-torch-fsdp2 excludes --use-distributed-optimizer"
    if sizes.get("precision") == "fp16":
        yield "--use-torch-fsdp2 excludes --fp16"


def precision(sizes: Sizes) -> Iterator[str]:
    """bf16 and fp16 exclude each other in every framework; they count where one file switches both on."""
    by_file: dict[str | None, set[str]] = {}
    for fact in sizes.store.every("config.precision"):
        if fact.quality is Quality.STATED and re.search(r"\b(?:bf16|bfloat16|fp16)\b", fact.source.text):
            by_file.setdefault(fact.source.path, set()).add(str(fact.value))
            sizes.used.append(fact)
    if any({"bf16", "fp16"} <= values for values in by_file.values()):
        yield "bf16 and fp16 are both on"


def fsdp2(sizes: Sizes) -> Iterator[str]:
    """Accelerate, FullyShardedDataParallelPlugin: version 2 has no local state dict."""
    if sizes.get("fsdp_version") == 2 and sizes.get("state_dict_type") == "local_state_dict":
        yield "FSDP version 2 excludes LOCAL_STATE_DICT: use SHARDED_STATE_DICT or FULL_STATE_DICT"


def connections(sizes: Sizes) -> Iterator[str]:
    """Megatron's FSDP wants several hardware queues; TP and CP want one before Blackwell (training/arguments.py)."""
    variable = sizes.store.get("env.CUDA_DEVICE_MAX_CONNECTIONS")
    if variable is None or sizes.framework() != "megatron":
        return
    one, sharded = str(variable.value).strip() == "1", sizes.on("megatron_fsdp") or sizes.on("torch_fsdp2")
    sizes.used.append(variable)
    if one and sharded:
        yield "Megatron's FSDP refuses CUDA_DEVICE_MAX_CONNECTIONS=1"
    known = [value for name in _gpus(sizes.store) if (value := capability(name)) is not None]
    split = max(sizes.count("tp"), sizes.count("cp"))
    if not one and not sharded and split > 1 and known and max(known) < 10:
        yield f"TP or CP {split} on this GPU needs CUDA_DEVICE_MAX_CONNECTIONS=1, it is {variable.value}"


def without_effect(sizes: Sizes) -> Iterator[str]:
    """What is switched off in silence, or only warned about."""
    if sizes.on("sequence_parallel") and sizes.framework() == "megatron" and sizes.degree("tp") == 1:
        yield "--sequence-parallel does nothing with TP 1"
    if sizes.get("fsdp_version") == 2 and sizes.framework() == "accelerate" and sizes.on("fsdp_sync_module_states"):
        yield "FSDP version 2 ignores fsdp_sync_module_states"


def dangerous(sizes: Sizes) -> Iterator[str]:
    """What runs and may go wrong: scales that cannot shrink, backward in backward, kernels that the GPU lacks."""
    scale = sizes.get("loss_scale")
    if sizes.get("precision") == "fp16" and isinstance(scale, float) and scale > 0:
        yield f"the fp16 loss scale is fixed at {scale:g}: 0 lets it adapt"
    if sizes.on("reentrant") and sizes.on("find_unused_parameters") and sizes.get("recompute") == "full":
        yield "re-entrant checkpointing with find_unused_parameters marks parameters ready twice under DDP"
    if sizes.get("zero_stage") == 3 and sizes.framework() == "deepspeed" and sizes.count("ep") > 1:
        yield f"DeepSpeed's own MoE layers (EP {sizes.count('ep')}) do not run with ZeRO-3"
    for name in _gpus(sizes.store):
        level = capability(name)
        if level is not None and level < 8 and sizes.get("precision") == "bf16":
            yield f"{name} (compute capability {level:g}) has no bf16 arithmetic"
        if level is not None and level < 8.9 and sizes.on("fp8"):
            yield f"{name} (compute capability {level:g}) has no FP8 arithmetic"


REFUSED: tuple[Check, ...] = (overlap, recomputation, shape, experts, torch_fsdp2, precision, fsdp2)
NOTED: tuple[Check, ...] = (dangerous,)
IDLE: tuple[Check, ...] = (without_effect,)


def derive(store: FactStore) -> Iterator[Fact]:
    """One fact for everything that a framework refuses, one for what is dangerous, one for what is of no use."""
    if store.get("run.steps") is None and not any(store.events(name) for name in STARTED):
        yield from _fact(store, "config.options_fault", REFUSED)
        yield from _fact(store, "config.connections_fault", (connections,))
    yield from _fact(store, "config.options_note", NOTED)
    yield from _fact(store, "config.options_idle", IDLE)


def _fact(store: FactStore, name: str, checks: Sequence[Check]) -> Iterator[Fact]:
    sizes = Sizes(store, [])
    texts = dict.fromkeys(text for check in checks for text in check(sizes))
    if texts:
        because = sources(sizes.used)
        yield Fact(name, "; ".join(texts), "job", Source("derived"), None, Quality.DERIVED, because)


def _gpus(store: FactStore) -> list[str]:
    """Models of GPU that the node shows, else those that the user names."""
    shown = {str(fact.value) for fact in store.every("gpu.name")}
    return sorted(shown or {str(fact.value) for fact in store.every("config.gpu_model")})
