"""Parameters, gradients and optimizer states on one rank."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.planner.job import Job, Optimizer, Precision, Sharding, Stack
from doctor.planner.parameters import RankParameters

# B of optimizer state a parameter, beside the master weight. Adam: two moments in fp32 (Rajbhandari et al., arXiv
# 1910.02054, section 3.1); 8-bit: two moments of one byte with one fp32 scale for 256 values (Dettmers et al., arXiv
# 2110.02861); Muon keeps one momentum, and Adam's two for what is no matrix inside a layer.
MOMENTS = {
    Optimizer.ADAM: 8.0,
    Optimizer.ADAM_8BIT: 2.0 + 2 * 4 / 256,
    Optimizer.SGD: 0.0,
    Optimizer.SGD_MOMENTUM: 4.0,
    Optimizer.MUON: 4.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """B on one rank, all the time: `parameters` as they stand between steps (shards where they are sharded)."""

    parameters: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        return self.parameters + self.gradients + self.optimizer


def states(job: Job, held: RankParameters) -> States:
    """States of the parameters that a rank holds.

    Dense ones are sharded over dp * cp, experts over their replicas (edp). Megatron-LM: bf16 parameters with fp32
    gradients take 18 B, with the distributed optimizer 6 + 12/d; fp16 with fp16 gradients 20 and 4 + 16/d; fp32 16 and
    8 + 8/d (docs/user-guide/features/dist_optimizer.md). ZeRO stages: arXiv 1910.02054, section 5. FSDP2 keeps fp32
    shards of parameters, gradients and moments: 16/d (pytorch, distributed/fsdp/_fully_shard).
    """
    layout = job.layout
    dense = _of(job, held.layers, layout.sharded_over, matrix=True)
    ends = _of(job, held.embedding + held.head, layout.sharded_over, matrix=False)
    expert_shards = max(1, layout.edp * layout.sharded_over // (layout.dp * layout.cp))
    experts = _of(job, held.experts, expert_shards, matrix=True)
    if job.lora_rank:
        return _lora(job, held)
    parts = tuple(sum(part) for part in zip(dense, ends, experts, strict=True))
    return States(parameters=parts[0], gradients=parts[1], optimizer=parts[2])


def weight_bytes(job: Job) -> float:
    """B of a parameter as the forward pass uses it."""
    if job.precision is Precision.FP32:
        return 4.0
    return 2.0  # FP8 parameters have a second copy, transposed (TransformerEngine, pytorch/tensor/float8_tensor.py)


def is_fsdp(job: Job) -> bool:
    """Are parameters sharded between steps and gathered block by block?"""
    fsdp = job.stack in (Stack.FSDP, Stack.MEGATRON_FSDP)
    return fsdp and job.sharding in (Sharding.GRADIENTS, Sharding.FULL)


def _of(job: Job, count: float, shards: int, matrix: bool) -> tuple[float, float, float]:
    """Parameters, gradients, optimizer of `count` parameters whose states may be sharded over `shards` ranks."""
    moments = MOMENTS[job.optimizer]
    if job.optimizer is Optimizer.MUON and not matrix:
        moments = MOMENTS[Optimizer.ADAM]
    weight, gradient, master = _bytes(job)
    over = {
        Sharding.NONE: (1, 1, 1),
        Sharding.OPTIMIZER: (1, 1, shards),
        Sharding.GRADIENTS: (1, shards, shards),
        Sharding.FULL: (shards, shards, shards),
    }[job.sharding]
    if is_fsdp(job):
        over = (shards, shards, shards)  # unsharded blocks are counted with the buffers
    optimizer = 0.0 if job.offload_optimizer else moments + master
    parameters = 0.0 if job.offload_parameters and job.sharding is Sharding.FULL else weight
    return count * parameters / over[0], count * gradient / over[1], count * optimizer / over[2]


def _bytes(job: Job) -> tuple[float, float, float]:
    """B of a parameter, of its gradient, of its master copy between steps."""
    low = job.precision is not Precision.FP32
    if job.stack in (Stack.FSDP, Stack.MEGATRON_FSDP):
        return (4.0, 4.0, 0.0) if job.master_weights else (2.0, 2.0, 0.0)
    if job.stack is Stack.DDP:
        return (4.0, 4.0, 0.0) if job.master_weights or not low else (2.0, 2.0, 0.0)
    if job.stack is Stack.DEEPSPEED:
        return (2.0, 2.0, 4.0) if low else (4.0, 4.0, 0.0)
    master = 4.0 if low and job.master_weights else 0.0
    if job.precision is Precision.FP16 and job.grad_bytes == 2:
        master += 4.0  # fp32 copies of the gradients for the step
    return weight_bytes(job), float(job.grad_bytes if low else 4), master


def _lora(job: Job, held: RankParameters) -> States:
    """Frozen parameters once, in the format of the products; all states of the adapters alone.

    An adapter of rank r on a matrix n x k has r*(n+k) parameters (Hu et al., arXiv 2106.09685, section 4.1): here on
    every matrix of attention and MLP, of which there are about `count / (h*h)` square ones on the rank.
    """
    hidden = job.shape.hidden
    trained = 2 * job.lora_rank * (held.layers + held.experts) / hidden
    weight = weight_bytes(job) / (job.layout.sharded_over if job.sharding is Sharding.FULL else 1)
    adapters = _of(job, trained, job.layout.sharded_over, matrix=True)
    return States(parameters=held.total * weight + adapters[0], gradients=adapters[1], optimizer=adapters[2])
