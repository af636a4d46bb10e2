"""Small traces as profilers of several years write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

BASE = 1_751_410_836_000_000_000
"""Nanoseconds since the epoch that times count from."""


def event(category: str, name: str, ts: float, dur: float, pid: Any = 1, tid: Any = 1, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name: str, ts: float, dur: float, stream: int = 7, device: int = 0, **args: Any) -> dict[str, Any]:
    return event("kernel", name, ts, dur, device, stream, device=device, stream=stream, **args)


def launch(ts: float, correlation: int, name: str = "cudaLaunchKernel", dur: float = 5.0) -> dict[str, Any]:
    return event("cuda_runtime", name, ts, dur, correlation=correlation)


def collective(
    name: str, ts: float, dur: float, ranks: Sequence[int], description: str = "", count: int = 1 << 20, **more: Any
) -> dict[str, Any]:
    """A kernel of NCCL with the arguments that PyTorch 2.3 and later give it."""
    known = {
        "Collective name": name,
        "In msg nelems": count,
        "Out msg nelems": count,
        "Group size": len(ranks),
        "dtype": "BFloat16",
        "Process Group Name": description or str(ranks),
        "Process Group Description": description,
        "Process Group Ranks": str(list(ranks)),
    }
    return kernel(f"ncclDevKernel_{name}_RING_LL(ncclDevKernelArgsStorage<4096ul>)", ts, dur, 20, **known, **more)


def step(number: int, ts: float, dur: float) -> dict[str, Any]:
    return event("user_annotation", f"ProfilerStep#{number}", ts, dur)


def trace(events: Iterable[dict[str, Any]], rank: int | None = 0, world: int = 8, **more: Any) -> dict[str, Any]:
    info = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}}
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_018_279_936, "numSms": 132}
    return {
        "schemaVersion": 1,
        "deviceProperties": [device],
        **info,
        "baseTimeNanoseconds": BASE,
        **more,
        "traceEvents": list(events),
        "traceName": "/tmp/trace.json",
    }


def written(path: Path, content: dict[str, Any] | list[Any], **how: Any) -> Path:
    path.write_text(json.dumps(content, **how))
    return path
