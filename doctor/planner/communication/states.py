"""Transfers of parameters and gradients between data-parallel ranks."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.planner.communication.activations import element
from doctor.planner.communication.transfer import Group, Hides, Primitive, Transfer
from doctor.planner.job import Job, Sharding, Stack
from doctor.planner.parameters import RankParameters


def state_transfers(job: Job, parameters: RankParameters) -> Iterator[Transfer]:
    """Of one rank in one step, for its dense parameters and for its experts apart: they have other groups."""
    layout = job.layout
    if layout.dp * layout.cp > 1:
        yield from _states(job, Group.DP, layout.dp * layout.cp, parameters.dense)
    if parameters.experts and layout.edp > 1:
        yield from _states(job, Group.EDP, layout.edp, parameters.experts)


def _states(job: Job, group: Group, ranks: int, parameters: float) -> Iterator[Transfer]:
    """Nothing sharded: one all-reduce of the gradients a step. ZeRO-1: a reduce-scatter of the gradients and an
    all-gather of the updated parameters, the same bytes (arXiv 1910.02054, section 7.1). ZeRO-2 frees gradients as they
    come, so it reduces them once a micro-batch (DeepSpeed, runtime/zero/stage_1_and_2.py; FSDP's shard_grad_op gathers
    parameters once a step as well). ZeRO-3: per micro-batch an all-gather for the forward pass, one for the backward
    pass, and a reduce-scatter: 1.5 times plain data parallelism where there is one micro-batch (section 7.2).
    """
    gradients = parameters * job.grad_bytes
    weights = parameters * element(job)
    m = job.micro_batches

    def transfer(primitive: Primitive, payload: float, calls: float, hides: Hides, why: str) -> Transfer:
        return Transfer(
            group=group, primitive=primitive, ranks=ranks, payload=payload, calls=calls, hides=hides, why=why
        )

    if job.lora_rank:  # frozen weights have no gradients; what adapters have is small
        gradients = 0.0
    if job.sharding is Sharding.NONE:
        yield transfer(Primitive.ALL_REDUCE, gradients, 1, Hides.BACKWARD, "gradients")
    elif job.sharding is Sharding.OPTIMIZER:
        yield transfer(Primitive.REDUCE_SCATTER, gradients, 1, Hides.BACKWARD, "gradients to their owners")
        yield transfer(Primitive.ALL_GATHER, weights, 1, Hides.LAYER, "updated parameters")
    elif job.sharding is Sharding.GRADIENTS:
        often = 1 if job.stack is Stack.MEGATRON else m
        yield transfer(Primitive.REDUCE_SCATTER, gradients, often, Hides.LAYER, "gradients of every micro-batch")
        yield transfer(Primitive.ALL_GATHER, weights, 1, Hides.LAYER, "updated parameters")
    else:
        yield transfer(Primitive.ALL_GATHER, weights, 2 * m, Hides.LAYER, "parameters for the pass at hand")
        yield transfer(Primitive.REDUCE_SCATTER, gradients, m, Hides.LAYER, "gradients of every micro-batch")
