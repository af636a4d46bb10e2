"""Seconds that a step waits for transfers between GPU and host memory."""

from __future__ import annotations

from doctor.planner.job import Job, Sharding, Stack
from doctor.planner.memory import activations, eager
from doctor.planner.parameters import RankParameters
from doctor.planner.stages import Part, alike

WEIGHT = 2  # B of a parameter as it is used


def offload(job: Job, part: Part, parameters: RankParameters, work: float) -> float:
    """Seconds a step over PCIe that nothing hides, on a rank that holds `part` and works for `work` seconds.

    Optimizer on the host: gradients go out and weights come back once a step. Parameters on the host: they come in for
    both passes of every micro-batch (ZeRO-Infinity, arXiv 2104.07857, section 4). Activations on the host: what a layer
    keeps goes out in the forward pass and comes back in the backward pass, beside the work on other layers; what takes
    longer than the work is waited for. The host's own arithmetic is not modelled.
    """
    if not (job.offload_optimizer or job.offload_parameters or job.offload_activations):
        return 0.0
    held = parameters.total / (job.layout.sharded_over if job.sharding is not Sharding.NONE else 1)
    moved = held * (job.grad_bytes + WEIGHT) if job.offload_optimizer else 0.0
    if job.offload_parameters:
        moved += held * WEIGHT * 2 * job.micro_batches
    pcie = job.cluster.gpu.known("pcie")
    streamed = 2 * _kept(job, part) * job.micro_batches / pcie if job.offload_activations else 0.0
    return moved / pcie + max(0.0, streamed - work)


def _kept(job: Job, part: Part) -> float:
    """B that one micro-batch keeps on the rank for its backward pass."""
    kept = activations.kept if job.stack in (Stack.MEGATRON, Stack.MEGATRON_FSDP) else eager.kept
    shape, total = job.shape, 0.0
    for layer, _ in alike(shape, 0, shape.layers):
        total += kept(job, layer) * (part.moe if shape.is_moe(layer) else part.dense)
    return total * job.tokens
