"""Snapshots in PyTorch's format, of an allocator whose calls a test writes down one by one."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MIB = 1 << 20
GIB = 1 << 30
SEGMENT = 64 * GIB

FORWARD = (
    ("/venv/torch/nn/modules/linear.py", "forward"),
    ("/venv/torch/nn/modules/module.py", "_call_impl"),
    ("/work/train.py", "step"),
)
LOSS = (("/venv/torch/nn/functional.py", "cross_entropy"), *FORWARD[1:])
BUILD = (("/venv/torch/nn/modules/linear.py", "__init__"), ("/work/model.py", "build"))
MOMENTS = (("/venv/torch/optim/adamw.py", "_init_group"), ("/work/train.py", "step"))
BACKWARD = (("/venv/torch/autograd/graph.py", "_engine_run_backward"), ("/work/train.py", "step"))
GATHER = (("/venv/torch/distributed/distributed_c10d.py", "all_gather_into_tensor"), *FORWARD[1:])


def frames(stack: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
    return [{"filename": file, "line": 10 + place, "name": name} for place, (file, name) in enumerate(stack)]


@dataclass
class Allocator:
    """One device. Addresses are given out in order and never again, in one segment of `reserved` bytes."""

    reserved: int = SEGMENT
    expandable: bool = False
    held: dict[int, tuple[int, list[dict[str, Any]]]] = field(default_factory=dict)
    trace: list[dict[str, Any]] = field(default_factory=list)
    next: int = 1 << 40

    def entry(self, action: str, size: int, stack: list[dict[str, Any]], **more: Any) -> None:
        told = {"action": action, "size": size, "stream": 0, "frames": stack, "time_us": 1000 * len(self.trace)}
        self.trace.append(told | more)

    def alloc(self, size: int, stack: tuple[tuple[str, str], ...] = FORWARD) -> int:
        address, self.next = self.next, self.next + size
        told = frames(stack)
        self.held[address] = (size, told)
        self.entry("alloc", size, told, addr=address)
        return address

    def free(self, address: int) -> None:
        size, _ = self.held.pop(address)
        self.entry("free_requested", size, [], addr=address)
        self.entry("free_completed", size, [], addr=address)

    def oom(self, size: int, device_free: int, stack: tuple[tuple[str, str], ...] = FORWARD) -> None:
        self.entry("oom", size, frames(stack), device_free=device_free)

    def segment(self, index: int) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = []
        at = 1 << 40
        for address, (size, told) in sorted(self.held.items()):
            if address > at:
                blocks.append(
                    {"address": at, "size": address - at, "requested_size": 0, "state": "inactive", "frames": []}
                )
            block = {"address": address, "size": size, "requested_size": size, "state": "active_allocated"}
            blocks.append(block | {"frames": told})
            at = address + size
        end = (1 << 40) + self.reserved
        if end > at:
            blocks.append({"address": at, "size": end - at, "requested_size": 0, "state": "inactive", "frames": []})
        used = sum(size for size, _ in self.held.values())
        return {
            "device": index,
            "address": 1 << 40,
            "total_size": self.reserved,
            "allocated_size": used,
            "active_size": used,
            "requested_size": used,
            "stream": 0,
            "segment_type": "large",
            "segment_pool_id": (0, 0),
            "is_expandable": self.expandable,
            "frames": [],
            "blocks": blocks,
        }


def snapshot(*devices: Allocator, last: int | None = None) -> dict[str, Any]:
    """The document; of each history only the `last` entries, as a full ring leaves them."""
    traces = [device.trace[-last:] if last else device.trace for device in devices]
    segments = [device.segment(index) for index, device in enumerate(devices)]
    return {"segments": segments, "device_traces": traces, "allocator_settings": {}, "external_annotations": []}


def write(path: Path, document: Any) -> Path:
    path.write_bytes(pickle.dumps(document, protocol=4))
    return path


def trained(steps: int = 10, leaked: int = 0, logits: int = 4 * GIB) -> Allocator:
    """Parameters, moments, and `steps` steps of activations, loss and gradients, each of which may keep something."""
    gpu = Allocator()
    for _ in range(4):
        gpu.alloc(2 * GIB, BUILD)
    kept = [gpu.alloc(GIB, BACKWARD)]
    for step in range(steps):
        activations = [gpu.alloc(512 * MIB) for _ in range(8)]
        loss = gpu.alloc(logits, LOSS)
        gpu.free(loss)
        for address in activations:
            gpu.free(address)
        if step == 0:
            for _ in range(8):
                gpu.alloc(2 * GIB, MOMENTS)
        if leaked:
            kept.append(gpu.alloc(leaked, (("/work/metrics.py", "update"), *FORWARD[1:])))
    return gpu
