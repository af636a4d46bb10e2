"""The moments of a step at which memory may be highest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from doctor.planner.job import Job, Sharding
from doctor.planner.memory.activations import word
from doctor.planner.memory.buffers import kinds
from doctor.planner.memory.states import is_fsdp
from doctor.planner.parameters import RankParameters, layer_on_rank
from doctor.planner.stages import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """B on a rank: `activations` kept by all micro-batches in flight, of which `layer` by one layer; `backward`: what
    the backward pass of a layer needs beside; logits with the loss; gradients between steps."""

    activations: float
    layer: float
    backward: float
    logits: float
    gradients: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """B on a rank at one moment, beside parameters and optimizer states. gathered: whole parameters and gradients."""

    name: str
    gradients: float = 0.0
    activations: float = 0.0
    working: float = 0.0
    logits: float = 0.0
    gathered: float = 0.0

    @property
    def total(self) -> float:
        return self.gradients + self.activations + self.working + self.logits + self.gathered


def moments(job: Job, chunks: tuple[Chunk, ...], held: RankParameters, load: Load) -> Iterator[Moment]:
    """The loss, where logits are there beside all activations, and the backward pass of the first layer after it; with
    sharded parameters those at which blocks are gathered too."""
    if is_fsdp(job):
        yield from _fsdp(job, chunks, held, load)
        return
    same = {"gradients": load.gradients, "activations": load.activations}
    yield Moment(name="backward", working=load.backward, **same)
    yield Moment(name="loss", logits=load.logits, **same)


def _fsdp(job: Job, chunks: tuple[Chunk, ...], held: RankParameters, load: Load) -> Iterator[Moment]:
    """Moments of FSDP2 (pytorch, distributed/fsdp/_fully_shard/_fsdp_param_group.py).

    The ends of the model are one group, gathered from the forward pass to the end; the head's gradient is whole from
    the loss on. In the backward pass the block at work and the next are gathered, and the fp32 input of the last
    block's reduce-scatter stays until this block hands in its own gradient: 8 B a parameter of a block at work, 10 B
    when its gradient is there in 16 bit. At the end the ends' gradient is reduced. With one micro-batch a step
    gradients are let go between steps, else they stay. Where blocks stay gathered after the forward pass (ZeRO-2) all
    are; in a pipeline gradients then stay whole until the last micro-batch (set_requires_gradient_sync).
    """
    one, ends = word(job), held.embedding + held.head
    early = 0.0 if job.micro_batches == 1 else load.gradients
    layers = sum(chunk.layers for chunk in chunks)
    if job.sharding is not Sharding.FULL:
        whole = held.total * one
        if job.layout.pp > 1 and job.micro_batches > 1:
            whole += held.total * job.grad_bytes
        same = {"gradients": load.gradients, "activations": load.activations, "gathered": whole}
        yield Moment(name="backward", working=load.backward, **same)
        yield Moment(name="loss", logits=load.logits, **same)
        return
    block = max((sum(layer_on_rank(job, layer)) for layer in kinds(job, chunks).values()), default=0.0)
    yield Moment(name="loss", gradients=early, activations=load.activations, logits=load.logits, gathered=one * ends)
    reduced = min(load.gradients, early + block * load.gradients / max(held.total, 1.0))
    open_ends = one * (ends + held.head)
    gathered = block * one * min(2, layers)
    yield Moment(
        name="first block",
        gradients=early,
        activations=load.activations,
        working=load.backward,
        gathered=open_ends + gathered,
    )
    if layers > 1:
        gathered = block * (one * min(2, layers - 1) + job.grad_bytes)
        left = max(0.0, load.activations - load.layer)
        yield Moment(
            name="second block",
            gradients=reduced,
            activations=left,
            working=load.backward,
            gathered=open_ends + gathered,
        )
        yield Moment(
            name="second block's gradient",
            gradients=reduced,
            activations=max(0.0, left - load.layer),
            gathered=open_ends + gathered + one * block,
        )
    end = max(2 * one * ends + job.grad_bytes * block, (one + job.grad_bytes) * ends)
    yield Moment(name="end", gradients=load.gradients, gathered=end)
