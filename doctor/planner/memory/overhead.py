"""What is used beside tensors: allocator, CUDA context, communicators."""

from __future__ import annotations

from doctor.planner.job import Job, Recompute, Sharding, Stack

MIB = float(2**20)
GIB = float(2**30)
# Reserved over allocated memory at the peak: blocks cut to sizes, streams that wait. Low, usual, high.
RESERVE = {
    Stack.MEGATRON: (1.02, 1.05, 1.10),
    Stack.MEGATRON_FSDP: (1.02, 1.05, 1.15),
    Stack.FSDP: (1.03, 1.12, 1.30),
    Stack.DEEPSPEED: (1.03, 1.10, 1.30),
    Stack.DDP: (1.02, 1.06, 1.15),
}
# Blocks that are gathered, freed and recomputed leave holes of many sizes, fewer where a compiled block makes few
# tensors. And tensors that a second stream used are freed late: TP's collectives beside FSDP's (torchtitan issue 735).
# Both are ratios of torchtitan's published reserved memory (benchmarks/, H100) to this model's allocated memory.
CHURN = 1.08
TP_STREAMS = 1.15
# CUDA context with the kernels of PyTorch and its libraries, general knowledge from nvidia-smi beside torch.
CONTEXT = 0.6 * GIB
# Buffers of one NCCL communicator: channels times protocol buffers (nccl, src/include/comm.h: 4 MiB a channel and peer
# for Simple, less for LL and LL128); tens of MiB to 0.5 GiB by channels and peers. Usual sum of a group here.
COMMUNICATOR = 0.15 * GIB


def reserve_factor(job: Job) -> tuple[float, float, float]:
    """Reserved over allocated memory: low, usual, high."""
    low, usual, high = RESERVE[job.stack]
    if job.stack is Stack.FSDP and job.sharding is Sharding.FULL:
        if not job.compile or job.recompute is Recompute.FULL:
            usual *= CHURN
        if job.layout.tp > 1:
            usual *= TP_STREAMS
    return low, usual, max(high, usual * 1.1)


def context(job: Job) -> tuple[float, float, float]:
    """B outside the framework's allocator: low, usual, high. One communicator for each group of more than one rank."""
    layout = job.layout
    groups = sum(degree > 1 for degree in (layout.tp, layout.cp, layout.pp, layout.dp * layout.cp, layout.ep))
    usual = CONTEXT + groups * COMMUNICATOR
    return 0.6 * usual, usual, 2.0 * usual
