"""Will this backward pass reduce gradients over the ranks? What each wrapper keeps of that, by its own attribute."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sync:
    """How a model reduces: `kind` of wrapper; `will` says whether the pass at hand does, None while that is unknown.

    `by_hook`: passes may be counted at a parameter. FSDP's parameters take no hook of ours: it changes how gradients
    that are offloaded are copied (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, has_post_acc_grad_hook).
    """

    kind: str
    will: Callable[[], bool | None]
    by_hook: bool


def sync_of(model: Any) -> Sync:
    """The way of `model`, which is wrapped, wraps, or is plain. Models are not kept alive by it."""
    if callable(getattr(model, "is_gradient_accumulation_boundary", None)):
        return Sync("deepspeed", _of(model, _deepspeed), False)
    for module in _wrappers(model):
        if hasattr(module, "require_backward_grad_sync"):
            return Sync("ddp", _of(module, lambda ddp: bool(ddp.require_backward_grad_sync)), True)
        if hasattr(module, "bucket_groups") and hasattr(module, "ddp_config"):
            return Sync("megatron", _of(module, _megatron), True)
        if hasattr(module, "_sync_gradients"):
            return Sync("fsdp1", _of(module, lambda fsdp: bool(fsdp._sync_gradients)), False)
    group = next(_fsdp_groups(model), None)
    if group is not None:
        return Sync("fsdp2", _of(group, lambda group: bool(group.reduce_grads)), False)
    return Sync("none", _active_ddp, True)


def _of(kept: Any, ask: Callable[[Any], bool | None]) -> Callable[[], bool | None]:
    found = weakref.ref(kept)

    def asked() -> bool | None:
        one = found()
        return ask(one) if one is not None else None

    return asked


def _wrappers(model: Any) -> Iterator[Any]:
    """The model and what it wraps: a compiled module, a wrapper within a wrapper."""
    for _ in range(6):
        yield model
        inside = getattr(model, "_orig_mod", None) or getattr(model, "module", None)
        if inside is None:
            return
        model = inside


def _deepspeed(engine: Any) -> bool:
    """From ZeRO-2 on every pass reduces, by design; below it the last of a step does."""
    return engine.zero_optimization_stage() >= 2 or bool(engine.is_gradient_accumulation_boundary())


def _megatron(module: Any) -> bool | None:
    """Megatron reduces in the backward pass where it overlaps the two, else once, at the end of a step."""
    if not getattr(module.ddp_config, "overlap_grad_reduce", False):
        return None
    return any(bool(group.is_last_microbatch) for group in module.bucket_groups)


def _fsdp_groups(model: Any) -> Iterator[Any]:
    """Groups of parameters that fully_shard made."""
    if not hasattr(model, "modules") or "torch.distributed.fsdp" not in sys.modules:
        return
    for module in model.modules():
        find = getattr(module, "_get_fsdp_state", None)
        if not callable(find):
            continue
        state = find()
        groups = getattr(state, "_fsdp_param_groups", None)  # some versions keep several, others one
        groups = [getattr(state, "_fsdp_param_group", None)] if groups is None else groups
        yield from (group for group in groups if hasattr(group, "reduce_grads"))


def _active_ddp() -> bool | None:
    """Of a model that was attached without its DDP wrapper: the wrapper that is calling it."""
    parallel = sys.modules.get("torch.nn.parallel.distributed")
    wrapper = getattr(getattr(parallel, "DistributedDataParallel", None), "_active_ddp_module", None)
    return bool(wrapper.require_backward_grad_sync) if wrapper is not None else None
