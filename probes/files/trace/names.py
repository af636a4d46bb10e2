"""What work on a device is, and what a call of the runtime does, by category and name."""

from __future__ import annotations

import re
from enum import IntEnum


class Work(IntEnum):
    """Kinds of work on a device."""

    COMPUTE = 0
    COMM = 1
    MEMORY = 2


class Call(IntEnum):
    """Calls on the host that matter."""

    LAUNCH = 0
    SYNC = 1
    ALLOCATE = 2
    ITEM = 3
    OTHER = 4


DEVICE_CATEGORIES = {
    "kernel": Work.COMPUTE,
    "gpu_memcpy": Work.MEMORY,
    "gpu_memset": Work.MEMORY,
    "memcpy": Work.MEMORY,
    "memset": Work.MEMORY,
    "mtia_ccp_events": Work.COMPUTE,
}
"""Categories, in lower case, of work on a device. An operator of Triton has a stream too, and an annotation is drawn
on the device's tracks: neither is work."""

RUNTIME_CATEGORIES = frozenset({"cuda_runtime", "cuda_driver", "runtime", "mtia_runtime", "hip_runtime", "xpu_runtime"})

COMM = re.compile(
    r"nccl(?!_gin_reset)|rccl|hccl|xccl|\bmscclpp|msccl"
    r"|multimem_(?:all|one|two|reduce)\w*|cross_device_reduce|(?:one|two)_shot_\w*(?:all_?reduce|reduce)"
    r"|allreduce_fusion_kernel|\ball_?reduce_kernel|custom_?all_?reduce|quick_?all_?reduce|vllm::\w*all_?reduce"
    r"|trtllm\w*all_?reduce|(?:one|two)shot_?all_?reduce|userbuffers|nvshmem"
    r"|deep_ep::\w*|\b(?:intranode|internode(?:_ll)?|low_latency)::(?:\w+::)*\w*(?:dispatch|combine)"
    r"|kernels::(?:all_?reduce|all_?gather|reduce_?scatter)|symm_?mem\w*(?:all_?reduce|all_?gather|reduce_?scatter)",
    re.IGNORECASE,
)
"""Kernels that move data between devices: those of the libraries (NCCL, RCCL, HCCL, MSCCL, NVSHMEM, DeepEP), and the
all-reduces that inference engines and symmetric memory bring along (vLLM custom_all_reduce.cuh, PyTorch
CUDASymmetricMemoryOps.cu, TensorRT-LLM allReduceKernels)."""

LAUNCH = re.compile(r"launch|memcpy|memset|runFunction", re.IGNORECASE)
ASYNC_COPY = re.compile(r"async", re.IGNORECASE)
SYNC = re.compile(r"synchronize|^(?:cuda|hip|cu)Memcpy(?!.*Async)", re.IGNORECASE)
ALLOCATE = re.compile(
    r"^(?:cuda|hip)(?:Malloc|Free)(?!Host)|^cuMem(?:Alloc|Free|Create|Map|Unmap|Release|SetAccess)|^hipExtMalloc"
)
NO_LAUNCH = re.compile(r"LaunchHostFunc|SetLaunch|GetLaunch|Occupancy", re.IGNORECASE)

ITEM_OPS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::nonzero")
"""Operators after which the host holds a value of the device: it waits for all that was launched before."""


def work_of(category: str, name: str) -> Work:
    """The kind of work of a device event of `category` in lower case."""
    kind = DEVICE_CATEGORIES[category]
    if kind is Work.MEMORY or (category == "mtia_ccp_events" and name == "dma_request"):
        return Work.MEMORY
    return Work.COMM if COMM.search(name[:400]) else Work.COMPUTE


def call_of(name: str) -> Call:
    """What a call of the CUDA or HIP runtime or driver does."""
    if SYNC.search(name):
        return Call.SYNC
    if ALLOCATE.search(name):
        return Call.ALLOCATE
    if LAUNCH.search(name) and not NO_LAUNCH.search(name):
        return Call.LAUNCH
    return Call.OTHER
