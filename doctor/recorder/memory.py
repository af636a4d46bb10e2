"""What holds the memory of this rank: tensors by category, and the counters of the caching allocator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

COUNTERS = {
    "allocated": ("allocated_bytes", "all", "current"),
    "allocated_peak": ("allocated_bytes", "all", "peak"),
    "reserved": ("reserved_bytes", "all", "current"),
    "reserved_peak": ("reserved_bytes", "all", "peak"),
    "inactive_split": ("inactive_split_bytes", "all", "current"),
    "retries": ("num_alloc_retries",),
    "ooms": ("num_ooms",),
}
"""torch.cuda.memory_stats: counters that the allocator keeps on the host."""


def on_gpu() -> bool:
    """Does this process use a GPU by now?"""
    return bool(import_module("torch").cuda.is_initialized())


def counters() -> dict[str, int]:
    """The allocator's counters of the current GPU; empty without one."""
    cuda = import_module("torch").cuda
    found: dict[str, int] = {}
    if not cuda.is_initialized():
        return found
    stats = cuda.memory_stats_as_nested_dict()
    for name, keys in COUNTERS.items():
        value: Any = stats
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int):
            found[name] = value
    return found


class Tally:
    """Bytes by category and kind of device; memory that several tensors share counts once, where it was first seen."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, int]] = set()

    def count(self, tensors: Iterable[Any]) -> dict[str, int]:
        found: dict[str, int] = {}
        for tensor in tensors:
            tensor = getattr(tensor, "_local_tensor", tensor)
            if not hasattr(tensor, "untyped_storage") or tensor.device.type == "meta":
                continue
            storage = tensor.untyped_storage()
            key = (str(tensor.device), int(storage.data_ptr()))
            if not storage.nbytes() or key in self._seen:
                continue
            self._seen.add(key)
            kind = str(tensor.device.type)
            found[kind] = found.get(kind, 0) + int(storage.nbytes())
        return found


def parameters(modules: Iterable[Any]) -> Iterator[Any]:
    """Parameters; of DeepSpeed's ZeRO-3 the part that this rank keeps."""
    for module in modules:
        for parameter in module.parameters():
            yield getattr(parameter, "ds_tensor", parameter)


def gradients(modules: Iterable[Any]) -> Iterator[Any]:
    """Gradients as they are before the optimizer's step, and Megatron's buffers of them."""
    for module in modules:
        for parameter in module.parameters():
            for name in ("main_grad", "grad"):
                if (gradient := getattr(parameter, name, None)) is not None:
                    yield gradient


def states(optimizers: Iterable[Any]) -> Iterator[Any]:
    """Tensors of the optimizers' states, and parameters that only they hold: copies in float32, shards of them."""
    for optimizer in optimizers:
        for state in list(getattr(optimizer, "state", {}).values()):
            yield from (value for value in state.values() if hasattr(value, "untyped_storage"))
        for group in getattr(optimizer, "param_groups", ()):
            yield from group.get("params", ())


def inner(optimizer: Any, depth: int = 4) -> Iterator[Any]:
    """The optimizers of torch within those of DeepSpeed and accelerate, Megatron's chains, torchtitan's containers."""
    if optimizer is None or depth == 0:
        return
    several = [getattr(optimizer, name, None) for name in ("chained_optimizers", "optimizers")]
    parts = next((list(part) for part in several if isinstance(part, list | tuple)), [])
    if not parts and (within := getattr(optimizer, "optimizer", None)) is not None:
        parts = [within]
    for part in parts:
        yield from inner(part, depth - 1)
    if not parts:
        yield optimizer
