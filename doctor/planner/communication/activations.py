"""Transfers of activations: tensor, sequence, context, expert and pipeline parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.planner.communication.transfer import Group, Hides, Primitive, Transfer
from doctor.planner.job import Job, Precision, Recompute, Schedule
from doctor.planner.stages import alike


def activation_transfers(job: Job) -> Iterator[Transfer]:
    """Of one rank of a middle stage in one step."""
    layers = job.shape.layers / job.layout.pp
    kinds = alike(job.shape, 0, job.shape.layers)
    expert_layers = sum(count for layer, count in kinds if job.shape.is_moe(layer)) / job.layout.pp
    if job.layout.tp > 1:
        yield from _tensor(job, layers, expert_layers)
    if job.layout.cp > 1:
        yield from _context(job, layers)
    if expert_layers:
        yield from _experts(job, expert_layers)
    if job.layout.pp > 1:
        yield _pipeline(job)


def element(job: Job) -> int:
    """B of an activation element."""
    return 4 if job.precision is Precision.FP32 else 2


def block(job: Job) -> float:
    """B of the hidden states of one micro-batch on one context-parallel rank, before sequence parallelism."""
    return job.tokens * job.shape.hidden * element(job)


def _again(job: Job) -> float:
    """Forward passes of a layer in a step: recomputation repeats the collectives of what it recomputes."""
    if job.recompute is not Recompute.FULL:
        return 1.0
    layers = job.shape.layers / job.layout.pp
    return 2.0 if job.recompute_layers is None else 1.0 + min(1.0, job.recompute_layers / layers)


def _tensor(job: Job, layers: float, expert_layers: float) -> Iterator[Transfer]:
    """Megatron-LM (arXiv 1909.08053, section 3): two all-reduces a layer forward, two backward. With sequence
    parallelism each is an all-gather and a reduce-scatter, and the backward pass gathers the inputs of the two column
    products once more for their weight gradients (arXiv 2205.05198, section 4.2.2). Experts with etp 1 need none: the
    MLP's pair is then the all-to-all."""
    attention = layers * job.micro_batches
    mlp = (layers - expert_layers) * job.micro_batches
    pairs = attention + mlp
    forward = _again(job)
    if not job.layout.sp:
        yield Transfer(
            group=Group.TP, primitive=Primitive.ALL_REDUCE, ranks=job.layout.tp, payload=block(job),
            calls=pairs * (forward + 1), hides=Hides.NOTHING, why="outputs and input gradients of attention and MLP",
        )  # fmt: skip
        return
    yield Transfer(
        group=Group.TP, primitive=Primitive.ALL_GATHER, ranks=job.layout.tp, payload=block(job),
        calls=pairs * (forward + 2), hides=Hides.NOTHING, why="inputs of attention and MLP, again for weight gradients",
    )  # fmt: skip
    yield Transfer(
        group=Group.TP, primitive=Primitive.REDUCE_SCATTER, ranks=job.layout.tp, payload=block(job),
        calls=pairs * (forward + 1), hides=Hides.NOTHING, why="outputs of attention and MLP, input gradients",
    )  # fmt: skip


def _context(job: Job, layers: float) -> Iterator[Transfer]:
    """Ring attention (arXiv 2310.01889): keys and values travel to every other rank, 2*b*(s/c)*k*d a hop; backward
    their gradients travel too."""
    shape = job.shape
    width = shape.heads * (shape.mla.qk_nope + shape.mla.qk_rope + shape.mla.v_dim) if shape.mla else 0
    per_token = width or 2 * shape.kv_heads * shape.head_dim
    hop = job.tokens * per_token * element(job) / min(job.layout.tp, shape.kv_heads)
    hops = (job.layout.cp - 1) * layers * job.micro_batches
    yield Transfer(
        group=Group.CP, primitive=Primitive.SEND_RECV, ranks=job.layout.cp, payload=hop,
        calls=hops * (_again(job) + 2), hides=Hides.ATTENTION, why="keys and values of the ring, their gradients",
    )  # fmt: skip


def _experts(job: Job, expert_layers: float) -> Iterator[Transfer]:
    """Dispatch and combine, forward and backward: four all-to-alls a layer of tokens * top-k * hidden (GShard, arXiv
    2006.16668, section 3.2). Tokens are already split over the TP group when they reach the router."""
    moe = job.shape.moe
    assert moe is not None
    tokens = job.tokens / job.layout.tp
    payload = tokens * moe.topk * job.shape.hidden * element(job)
    calls = expert_layers * job.micro_batches * 2 * (_again(job) + 1)
    if job.layout.ep > 1:
        yield Transfer(
            group=Group.EP, primitive=Primitive.ALL_TO_ALL, ranks=job.layout.ep, payload=payload,
            calls=calls, hides=Hides.NOTHING, why="tokens to their experts and back",
        )  # fmt: skip
    if job.layout.etp > 1:
        yield Transfer(
            group=Group.ETP, primitive=Primitive.ALL_GATHER, ranks=job.layout.etp, payload=payload * job.layout.etp,
            calls=calls / 2, hides=Hides.NOTHING, why="tokens of an expert that is split",
        )  # fmt: skip
        yield Transfer(
            group=Group.ETP, primitive=Primitive.REDUCE_SCATTER, ranks=job.layout.etp,
            payload=payload * job.layout.etp, calls=calls / 2, hides=Hides.NOTHING, why="outputs of a split expert",
        )  # fmt: skip


def _pipeline(job: Job) -> Transfer:
    """One send forward and one backward per boundary and micro-batch (arXiv 2104.04473, section 2.2): v times as many
    when a stage holds v chunks, twice as many where a rank holds both ends of the pipeline (ZB-V, DualPipe)."""
    split = job.layout.tp if job.layout.sp else 1
    chunks = job.layout.vpp if job.schedule is Schedule.INTERLEAVED else 1
    if job.schedule in (Schedule.ZB_V, Schedule.DUALPIPE):
        chunks = 2
    return Transfer(
        group=Group.PP, primitive=Primitive.SEND_RECV, ranks=job.layout.pp, payload=block(job) / split,
        calls=2 * job.micro_batches * chunks, hides=Hides.PIPELINE, why="hidden states between stages, their gradients",
    )  # fmt: skip
