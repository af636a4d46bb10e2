"""How many tokens each expert gets, from what the routers of the frameworks give or keep.

Megatron Core's TopKRouter gives (probabilities, map of tokens by experts); the routers of torchtitan and DeepSpeed give
(scores, experts chosen, tokens of each expert); those of Transformers (logits, scores, experts chosen), before version
5 the logits alone; DeepSpeed's MOELayer keeps exp_counts, torchtitan's MoE and Megatron's router running sums.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

SUMS = ("tokens_per_expert", "local_tokens_per_expert")
COUNTS = ("num_experts", "num_moe_experts", "n_routed_experts", "num_local_experts")
ROUTERS = re.compile(r"router|gate$|gating", re.IGNORECASE)
MOST_EXPERTS = 4096
GROWN = 1.5
"""Sums that are never set back at least double from the first step that is read to the next."""


def watched(model: Any) -> Iterator[tuple[str, Any, int | None, int | None]]:
    """Modules that may tell: name, module, experts and experts a token, where these are known."""
    parents: dict[str, Any] = {}
    for name, module in model.named_modules():
        parents[name] = module
        parent = parents.get(name.rpartition(".")[0]) if name else None
        last = name.rpartition(".")[2]
        told = hasattr(module, "exp_counts") or any(_is_tensor(getattr(module, sums, None)) for sums in SUMS)
        routes = ROUTERS.search(last) or ROUTERS.search(type(module).__name__)
        experts = _known(module, COUNTS) or _known(getattr(module, "config", None), COUNTS)
        top = _known(module, ("top_k", "topk"))
        if routes and experts is None and parent is not None and getattr(module, "out_features", 0) > 1:
            of_parent = _known(parent, COUNTS)  # a plain linear layer in a block that knows its experts
            if of_parent == module.out_features:
                experts, top = of_parent, _known(parent, ("top_k", "topk"))
        if told or (routes and experts is not None):
            yield name, module, experts, top


def counts(output: Any, module: Any, experts: int | None, top: int | None) -> Any:
    """Tokens of each expert as a tensor, by what a module gave; None where that tells nothing."""
    torch = import_module("torch")
    parts = [part for part in (output if isinstance(output, tuple | list) else (output,)) if _is_tensor(part)]
    with torch.no_grad():
        for part in parts:
            if part.dtype == torch.bool and part.dim() == 2 and (experts is None or part.shape[1] == experts):
                return part.sum(0)
        if len(parts) > 1 and parts[-1].dim() == 1 and parts[-1].shape[0] == experts:
            return parts[-1]
        for part in parts:
            whole = not part.dtype.is_floating_point and not part.dtype.is_complex and part.dtype != torch.bool
            if experts and whole and part.dim() >= 2 and part.shape[-1] == (top or part.shape[-1]):
                return _histogram(torch, part, experts)
        if experts and top and len(parts) == 1 and parts[0].shape[-1] == experts and parts[0].dim() >= 2:
            return _histogram(torch, parts[0].topk(min(top, experts), dim=-1).indices, experts)
    kept: Any = getattr(module, "exp_counts", None)
    return kept if _is_tensor(kept) and kept.dim() == 1 else None


def sums(module: Any) -> Any:
    """The running sums that a module keeps."""
    found: list[Any] = [getattr(module, name, None) for name in SUMS]
    return next((kept for kept in found if _is_tensor(kept) and kept.dim() == 1), None)


class Layers:
    """Tokens by layer within one step: summed over the passes, and each layer told by the first module that tells."""

    def __init__(self) -> None:
        self._by: dict[str, str] = {}
        self._now: dict[str, Any] = {}
        self._before: dict[str, list[float]] = {}
        self._grows: dict[str, bool] = {}

    def add(self, name: str, tokens: Any, label: str = "") -> None:
        """Adds one pass; nothing is copied to the host yet."""
        label = label or layer_of(name)
        if self._by.setdefault(label, name) != name or tokens.shape[0] > MOST_EXPERTS:
            return
        tokens = getattr(tokens, "_local_tensor", tokens).detach()
        before = self._now.get(label)
        # a copy: the framework may go on with its own
        self._now[label] = tokens.clone() if before is None else before + tokens.to(before.device)

    def take(self) -> dict[str, Any]:
        """What was added since the last time."""
        found, self._now = self._now, {}
        return found

    def tells(self, name: str) -> bool:
        """Has this module's layer been told by another, or by itself, in passes?"""
        return layer_of(name) in self._by

    def running(self, name: str, tokens: list[float]) -> list[float]:
        """Tokens since the last time. Some sums are set back in each step and some never: the second time tells."""
        before = self._before.get(name, [])
        self._before[name] = tokens
        grown = len(before) == len(tokens) and all(now >= then for now, then in zip(tokens, before, strict=True))
        if len(before) == len(tokens):
            self._grows.setdefault(name, grown and sum(tokens) >= GROWN * sum(before))
        return [now - then for now, then in zip(tokens, before, strict=True)] if grown and self._grows[name] else tokens


def layer_of(name: str) -> str:
    """The number of the layer in a module's path, else the path."""
    found = re.search(r"(?:layers?|blocks?|h)\.(\d+)(?:\.|$)", name) or re.search(r"\.(\d+)(?:\.|$)", f".{name}")
    return found[1] if found else name


def _histogram(torch: Any, chosen: Any, experts: int) -> Any:
    """How often each expert stands in `chosen`; unlike bincount it does not wait for the device."""
    flat = chosen.reshape(-1).long()
    fits = (flat >= 0) & (flat < experts)
    counted = torch.zeros(experts, dtype=torch.float32, device=flat.device)
    return counted.scatter_add_(0, flat.clamp(0, experts - 1), fits.float())


def _known(module: Any, names: tuple[str, ...]) -> int | None:
    values = (getattr(module, name, None) for name in names)
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool) and 0 < v <= MOST_EXPERTS), None)


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "untyped_storage")
