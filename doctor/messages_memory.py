"""Texts about the memory of GPUs by who holds it, English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "picture.gpu_memory": ("who holds the memory of each GPU", "各 GPU 显存由谁占用"),
    "picture.memory_at_error": ("GPU memory when a request for more was refused", "申请显存失败时的显存占用"),
    "part.gpu_allocated": ("tensors", "张量"),
    "part.gpu_cached": ("cached", "缓存"),
    "part.gpu_fragmented": ("fragmented", "碎片"),
    "part.gpu_outside": ("CUDA context, NCCL and libraries", "CUDA 上下文、NCCL 与其他库"),
    "part.gpu_others": ("other processes", "其他进程"),
    "part.gpu_outside_or_others": (
        "CUDA context, NCCL, libraries and other processes",
        "CUDA 上下文、NCCL、其他库与其他进程",
    ),
    "part.gpu_used": ("in use", "已用"),
    "part.gpu_driver": ("driver", "驱动"),
    "part.gpu_free": ("free", "空闲"),
    "part.gpu_unknown": ("unknown", "未知"),
    "gpu_memory.unknown": ("unknown", "未知"),
    "gpu_memory.ended": (
        "the process that was recorded is not on this GPU now, so its parts are not told apart",
        "被记录的进程已不在此 GPU 上，因此不再细分",
    ),
    "gpu_memory.compared": (
        "measured (and as the planner's model has it): {rows}",
        "实测（括号内为规划模型的估计）：{rows}",
    ),
    "gpu_memory.part.parameters": ("parameters", "参数"),
    "gpu_memory.part.gradients": ("gradients", "梯度"),
    "gpu_memory.part.optimizer": ("optimizer states", "优化器状态"),
    "gpu_memory.part.rest": ("activations and buffers at the peak", "峰值时的激活与缓冲"),
    "gpu_memory.part.reserve": ("allocator beyond tensors", "分配器超出张量的部分"),
    "gpu_memory.part.outside": ("CUDA context and communicators", "CUDA 上下文与通信器"),
}
