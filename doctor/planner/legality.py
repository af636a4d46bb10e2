"""What a framework refuses: sizes that do not divide, and switches that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.planner.job import Job, Schedule, Sharding, Stack


def problems(job: Job) -> tuple[str, ...]:
    """One line for each reason why the job would not start, naming the values; none if it would.

    Sources: Megatron-LM, megatron/training/arguments.py (validate_args) and core/transformer/transformer_config.py;
    torchtitan, distributed/parallel_dims.py; DeepSpeed, runtime/pipe/engine.py.
    """
    return (*_attention(job), *_pipeline(job), *_sequence(job), *_experts(job), *_sharding(job))


def legal(job: Job) -> bool:
    return not problems(job)


def _attention(job: Job) -> Iterator[str]:
    shape, tp = job.shape, job.layout.tp
    if shape.heads % tp:
        yield f"{shape.heads} attention heads are not divisible by tp {tp}; right would be {_divisors(shape.heads, tp)}"
    elif shape.mla is None and shape.kv_heads % tp:
        right = _divisors(shape.kv_heads, tp)
        yield f"{shape.kv_heads} key-value heads are not divisible by tp {tp}; right would be {right}"
    if shape.ffn % tp:
        yield f"ffn {shape.ffn} is not divisible by tp {tp}"


def _pipeline(job: Job) -> Iterator[str]:
    layout, layers = job.layout, job.shape.layers
    by_hand = layout.first or layout.last
    inner = layers - layout.first - layout.last
    stages = layout.pp - bool(layout.first) - bool(layout.last)
    if layout.chunks:
        if sum(layout.chunks) != layers:
            yield f"the chunks hold {sum(layout.chunks)} layers; the model has {layers}"
    elif by_hand:
        if inner < 0 or (stages > 0 and inner % stages) or (stages <= 0 and inner):
            yield (
                f"{layers} layers less {layout.first} in the first and {layout.last} in the last stage leave {inner}, "
                f"which {stages} further stages cannot share evenly"
            )
    elif layers % (layout.pp * layout.vpp):
        cut = f"pp {layout.pp}" + (f" x vpp {layout.vpp} = {layout.pp * layout.vpp}" if layout.vpp > 1 else "")
        yield f"{layers} layers are not divisible by {cut}; right would be {_divisors(layers, layout.pp * layout.vpp)}"
    if layout.vpp > 1 and layout.pp == 1:
        yield f"vpp {layout.vpp} needs a pipeline, but pp is 1"
    if job.schedule is Schedule.INTERLEAVED and layout.pp > 1 and job.micro_batches % layout.pp:
        yield f"{job.micro_batches} micro-batches are not divisible by pp {layout.pp}; interleaving needs that"
    if job.schedule is Schedule.DUALPIPE and layout.pp % 2:
        yield f"DualPipe feeds both ends and needs an even number of stages; pp is {layout.pp}"


def _sequence(job: Job) -> Iterator[str]:
    layout, seq = job.layout, job.seq
    if layout.cp > 1 and seq % (2 * layout.cp):
        yield f"seq {seq} is not divisible by 2 x cp {layout.cp} = {2 * layout.cp}, a ring's chunks"
    elif layout.sp and layout.tp > 1 and (seq // layout.cp) % layout.tp:
        yield f"sequence parallelism cuts {seq // layout.cp} tokens over tp {layout.tp}, which does not divide them"
    if layout.sp and layout.tp == 1:
        yield "sequence parallelism is on, but tp is 1: there is nothing to cut over"


def _experts(job: Job) -> Iterator[str]:
    layout, moe = job.layout, job.shape.moe
    if moe is None:
        if layout.ep > 1:
            yield f"ep is {layout.ep}, but {job.shape.name} has no experts"
        return
    if moe.experts % layout.ep:
        right = _divisors(moe.experts, layout.ep)
        yield f"{moe.experts} experts are not divisible by ep {layout.ep}; right would be {right}"
    if moe.ffn % layout.etp:
        yield f"an expert's ffn {moe.ffn} is not divisible by etp {layout.etp}"
    if layout.tp > 1 and not layout.sp and job.stack is Stack.MEGATRON and layout.ep > 1:
        yield f"experts with tp {layout.tp} need sequence parallelism (Megatron-LM refuses to start)"


def _sharding(job: Job) -> Iterator[str]:
    deep = job.sharding in (Sharding.GRADIENTS, Sharding.FULL)
    if job.stack is Stack.DEEPSPEED and job.layout.pp > 1 and deep:
        stage = 2 if job.sharding is Sharding.GRADIENTS else 3
        yield f"DeepSpeed's pipeline does not work with ZeRO-{stage}; right would be ZeRO-1, or pp 1"


def _divisors(whole: int, near: int) -> str:
    """The divisors of `whole` on both sides of `near`."""
    below = max((d for d in range(1, near) if whole % d == 0), default=None)
    above = next((d for d in range(near + 1, whole + 1) if whole % d == 0), None)
    return " or ".join(str(d) for d in (below, above) if d)
