"""What a framework refuses: sizes that do not divide, and switches that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.planner.errors import reason
from doctor.planner.job import Job, Schedule, Sharding, Stack
from doctor.rulebase.model import Text


def problems(job: Job) -> tuple[Text, ...]:
    """One line for each reason why the job would not start, naming the values; none if it would.

    Sources: Megatron-LM, megatron/training/arguments.py (validate_args) and core/transformer/transformer_config.py;
    torchtitan, distributed/parallel_dims.py; DeepSpeed, runtime/pipe/engine.py.
    """
    return (*_attention(job), *_pipeline(job), *_sequence(job), *_experts(job), *_sharding(job))


def legal(job: Job) -> bool:
    return not problems(job)


def _attention(job: Job) -> Iterator[Text]:
    shape, tp = job.shape, job.layout.tp
    if shape.heads % tp:
        yield reason("refused.heads", heads=shape.heads, tp=tp, right=_divisors(shape.heads, tp))
    elif shape.mla is None and shape.kv_heads % tp:
        yield reason("refused.kv_heads", heads=shape.kv_heads, tp=tp, right=_divisors(shape.kv_heads, tp))
    if shape.ffn % tp:
        yield reason("refused.ffn", ffn=shape.ffn, tp=tp)


def _pipeline(job: Job) -> Iterator[Text]:
    layout, layers = job.layout, job.shape.layers
    by_hand = layout.first or layout.last
    inner = layers - layout.first - layout.last
    stages = layout.pp - bool(layout.first) - bool(layout.last)
    if layout.chunks:
        if sum(layout.chunks) != layers:
            yield reason("reason.chunks.layers", held=sum(layout.chunks), layers=layers)
    elif by_hand:
        if inner < 0 or (stages > 0 and inner % stages) or (stages <= 0 and inner):
            yield reason(
                "refused.ends", layers=layers, first=layout.first, last=layout.last, inner=inner, stages=stages
            )
    elif layers % (layout.pp * layout.vpp):
        cut = f"pp {layout.pp}" + (f" x vpp {layout.vpp} = {layout.pp * layout.vpp}" if layout.vpp > 1 else "")
        right = _divisors(layers, layout.pp * layout.vpp)
        yield reason("refused.layers", layers=layers, cut=cut, right=right)
    if layout.vpp > 1 and layout.pp == 1:
        yield reason("refused.vpp", vpp=layout.vpp)
    if job.schedule is Schedule.INTERLEAVED and layout.pp > 1 and job.micro_batches % layout.pp:
        yield reason("refused.interleaved", micro_batches=job.micro_batches, pp=layout.pp)
    if job.schedule is Schedule.DUALPIPE and layout.pp % 2:
        yield reason("refused.dualpipe", pp=layout.pp)


def _sequence(job: Job) -> Iterator[Text]:
    layout, seq = job.layout, job.seq
    if layout.cp > 1 and seq % (2 * layout.cp):
        yield reason("refused.ring", seq=seq, cp=layout.cp, chunks=2 * layout.cp)
    elif layout.sp and layout.tp > 1 and (seq // layout.cp) % layout.tp:
        yield reason("refused.sp", tokens=seq // layout.cp, tp=layout.tp)
    if layout.sp and layout.tp == 1:
        yield reason("refused.sp.tp")


def _experts(job: Job) -> Iterator[Text]:
    layout, moe = job.layout, job.shape.moe
    if moe is None:
        if layout.ep > 1:
            yield reason("refused.no_experts", ep=layout.ep, model=job.shape.name)
        return
    if moe.experts % layout.ep:
        right = _divisors(moe.experts, layout.ep)
        yield reason("refused.experts", experts=moe.experts, ep=layout.ep, right=right)
    if moe.ffn % layout.etp:
        yield reason("refused.expert_ffn", ffn=moe.ffn, etp=layout.etp)
    if layout.tp > 1 and not layout.sp and job.stack is Stack.MEGATRON and layout.ep > 1:
        yield reason("refused.experts_sp", tp=layout.tp)


def _sharding(job: Job) -> Iterator[Text]:
    deep = job.sharding in (Sharding.GRADIENTS, Sharding.FULL)
    if job.stack is Stack.DEEPSPEED and job.layout.pp > 1 and deep:
        stage = 2 if job.sharding is Sharding.GRADIENTS else 3
        yield reason("refused.zero", stage=stage)


def _divisors(whole: int, near: int) -> Text | int | None:
    """The divisors of `whole` on both sides of `near`."""
    below = max((d for d in range(1, near) if whole % d == 0), default=None)
    above = next((d for d in range(near + 1, whole + 1) if whole % d == 0), None)
    return reason("reason.or", first=below, second=above) if below and above else below or above
