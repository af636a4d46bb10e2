"""Stands in for torch.cuda where there is no GPU: an allocator whose calls a job makes itself, in PyTorch's format."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

from tests.probes.files.memory_snapshot.snapshots import Allocator, snapshot


@dataclass
class Gpu(Allocator):
    """Knows stacks and entries of what is asked for while a history is recorded; `turned` has each change of that."""

    recording: bool = False
    retries: int = 0
    turned: list[dict[str, Any]] = field(default_factory=list)

    def entry(self, action: str, size: int, stack: list[dict[str, Any]], **more: Any) -> None:
        if self.recording:
            super().entry(action, size, stack, **more)

    def alloc(self, size: int, stack: tuple[tuple[str, str], ...] = ()) -> int:
        return super().alloc(size, stack if self.recording else ())

    def record(self, enabled: str | None = "all", **how: Any) -> None:
        self.turned.append({"enabled": enabled, **how})
        self.recording = enabled is not None
        if not self.recording:
            self.trace = []

    @property
    def used(self) -> int:
        return sum(size for size, _ in self.held.values())


class Mark:
    """An event of a stream that has come as soon as it is recorded."""

    def __init__(self, enable_timing: bool = False) -> None:
        pass

    def record(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Mark) -> float:
        return 0.0


def install(gpu: Gpu) -> Gpu:
    """Puts `gpu` in the place of what the recorder calls of torch.cuda; no tensor of the job lies on it."""

    def stats() -> dict[str, Any]:
        told = {"all": {"current": gpu.used, "peak": gpu.used}}
        return {"allocated_bytes": told, "reserved_bytes": told, "num_alloc_retries": gpu.retries, "num_ooms": 0}

    cuda = torch.cuda
    cuda.is_initialized = cuda.is_available = lambda: True
    cuda.is_current_stream_capturing = lambda: False
    cuda.memory_stats_as_nested_dict = stats
    cuda.current_device = lambda: 0
    cuda.get_device_properties = lambda index: SimpleNamespace(name="none", total_memory=gpu.reserved)
    cuda.Event = Mark
    cuda.memory._snapshot = lambda: snapshot(gpu)
    cuda.memory._record_memory_history = gpu.record
    torch._C._cuda_isHistoryEnabled = lambda: gpu.recording
    return gpu
