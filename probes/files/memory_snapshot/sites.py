"""What memory is for, told by the stack that asked for it. What no pattern knows stays `unknown`.

Stacks have the innermost call first. The first frame that a pattern knows decides: a loss within the forward pass of a
module is a loss, an all-gather within it is communication. The patterns name files and functions of PyTorch, Megatron
Core, DeepSpeed, Transformers, bitsandbytes and Apex.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

CATEGORIES = (
    *("parameters", "gradients", "optimizer_state", "parameter_buffers", "activations", "logits", "temporary"),
    *("communication", "earlier", "unknown"),
)
"""`gradients` is all that the backward pass asks for; `parameter_buffers` are those of Megatron's data parallelism,
which hold parameters and gradients; `earlier` was there before the recording began, so no stack is known."""

EARLIER, UNKNOWN = "earlier", "unknown"
MOST_FRAMES = 200
LONGEST = 300

_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        "logits",
        r"functional\.py:cross_entropy|functional\.py:(?:log_)?softmax\b.*loss|modules/loss\.py:|cross_entropy\w*\.py:",
    ),
    (
        "logits",
        r"loss_utils\.py:|:(?:\w*_)?(?:causal_?lm_?loss|lm_loss|language_model_loss|compute_loss|compute_logits|nll_loss)\b",
    ),
    ("logits", r":\w*(?:vocab_parallel_cross_entropy|CrossEntropy|CausalLMLoss)\w*|_fused_linear_cross_entropy"),
    (
        "optimizer_state",
        r"torch/optim/\w+\.py:_?init_(?:group|state)|:_?(?:init|initialize)_(?:optimizer_)?states?(?:_\w+)?$",
    ),
    (
        "optimizer_state",
        r"bitsandbytes/optim/\w+\.py:(?:init_state|get_state_buffer)|distrib_optimizer\.py:\w*(?:shard_fp32|main_param|state)",
    ),
    ("optimizer_state", r"optimizer\.py:(?:_?build_model_and_main_param\w*|_create_fp32_\w+|_?init_master\w*)"),
    ("temporary", r"torch/optim/|/optimizers?/|clip_grad\w*\.py:|/optim/\w+\.py:|_foreach_utils\.py:|grad_scaler\.py:"),
    ("parameter_buffers", r"param_and_grad_buffer\.py:"),
    (
        "communication",
        r"distributed_c10d\.py:|_functional_collectives\w*\.py:|_fsdp_collectives\.py:|_fsdp_param_group\.py:",
    ),
    (
        "communication",
        r"_flat_param\.py:(?:_?alloc_padded|_all_gather|unshard|_use_unsharded)|tensor_parallel/mappings\.py:",
    ),
    (
        "communication",
        r"partition_(?:parameters|param_coordinator|parameter_coordinator)\.py:\w*(?:gather|fetch)|p2p_communication\.py:",
    ),
    (
        "communication",
        r"zero/stage\w+\.py:\w*(?:ipg|bucket|reduce)|reducer\.cpp|c10d::|ProcessGroupNCCL|fused_a2a\.py:|moe/token_dispatcher\.py:",
    ),
    (
        "gradients",
        r"AccumulateGrad|accumulate_grad|torch/autograd/|torch::autograd::|autograd/engine|:_?backward\b|:backward_step\b",
    ),
    (
        "parameters",
        r"modules/module\.py:(?:_apply|to|to_empty|cuda|convert|half|bfloat16|float)$|modules/\w+\.py:__init__",
    ),
    (
        "parameters",
        r"modeling_utils\.py:(?!forward)\w+|/(?:model_)?load(?:ing|er)?\w*\.py:|:(?:from_pretrained|load_state_dict|reset_parameters)\b",
    ),
    (
        "parameters",
        r"_fsdp_param\.py:(?:_init|__init__|init)|_flat_param\.py:(?:__init__|_init|flatten|shard)|:_?initialize_affine_weight\w*",
    ),
    ("parameters", r"safetensors|partition_parameters\.py:(?:__init__|_partition|_convert|partition)"),
    (
        "activations",
        r"modules/module\.py:(?:_call_impl|_wrapped_call_impl|_slow_forward)|checkpoint\.py:|:forward(?:_step)?\b",
    ),
)
_KNOWN = tuple((category, re.compile(pattern)) for category, pattern in _PATTERNS)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame as `file:function`, what its pattern says it is for, and whether it is PyTorch's own."""

    text: str
    category: str
    library: bool


def frame_of(told: Any) -> Frame | None:
    """The frame that an entry of a stack is; None for anything else."""
    if not isinstance(told, dict):
        return None
    file, name = str(told.get("filename", ""))[-LONGEST:], str(told.get("name", ""))[:LONGEST]
    return _known(f"{file.replace(chr(92), '/')}:{name}")


@lru_cache(maxsize=1 << 16)
def _known(text: str) -> Frame:
    category = next((name for name, pattern in _KNOWN if pattern.search(text)), "")
    library = "/torch/" in text or "::" in text or text.startswith(("torch/", "<", "??"))
    return Frame(text, category, library)


def origin(frames: Iterable[Frame | None]) -> tuple[str, str]:
    """What a stack asked for memory for, and where: the innermost frame, and the innermost one outside PyTorch."""
    category = inner = outer = own = ""
    for frame in frames:
        if frame is None:
            continue
        category = category or frame.category
        if frame.text.startswith("??"):
            continue
        inner, outer = inner or frame.text, frame.text
        if not own and not frame.library:
            own = frame.text
        if category and own:
            break
    own = own or outer
    return category or UNKNOWN, inner if own == inner else f"{inner} < {own}"


def emptied(frames: Any) -> bool:
    """Did the program itself ask to give the cache back?"""
    first = frames[:20] if isinstance(frames, list | tuple) else ()
    return any(f is not None and (":empty_cache" in f.text or "emptyCache" in f.text) for f in map(frame_of, first))
