"""How a person would find a layout: one move after the other, each for a reason with its numbers.

The strategy is greedy: it stops at the first layout that fits for certain. The search looks at all layouts; the trace
shows why a layout of that kind is needed at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, gcd
from typing import Any

from doctor.planner.bubble import bubble
from doctor.planner.errors import PlanError
from doctor.planner.frameworks import Framework
from doctor.planner.job import Job, Recompute, Schedule, Sharding, Stack
from doctor.planner.knobs import STAGES_OF_ZERO
from doctor.planner.layout import Layout
from doctor.planner.legality import problems
from doctor.planner.memory.breakdown import StageMemory
from doctor.planner.parameters import total
from doctor.planner.peak import in_layers, least, peak
from doctor.planner.search import MODULES
from doctor.planner.space import FEWEST_TOKENS, counting_ends, divisors, ends

LARGE_BUBBLE = 0.10
# Where states take more of the fullest GPU than this, cutting activations cannot be what helps.
MOSTLY_STATES = 0.5
AGAINST_STATES: tuple[str, ...] = ("shard", "experts", "tensor", "pipeline", "experts_far", "recompute", "context")
AGAINST_ACTIVATIONS: tuple[str, ...] = ("shard", "tensor", "recompute", "context", "pipeline", "experts", "experts_far")
SPARE: tuple[str, ...] = ("tensor", "pipeline", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move. key: of its text; values: numbers of the text (memory in B, shares 0 to 1); job: the job after it, None
    for a remark; peak: its fullest stage."""

    key: str
    values: Mapping[str, Any]
    job: Job | None = None
    peak: StageMemory | None = None


def trace(start: Job, framework: Framework) -> tuple[Step, ...]:
    """The moves from plain data parallelism to a layout that fits on all GPUs, or to the end of what the framework has.

    `start`: the job; its layout does not matter, its other settings stay.
    """
    gpus, capacity, domain = start.cluster.gpus, start.cluster.gpu.memory, start.cluster.nvlink_domain
    steps = [_whole(start)]
    job = _plain(start, framework)
    steps.append(_step("trace.plain.full" if job.sharding is Sharding.FULL else "trace.plain", job, domain))
    while peak(job).high > capacity or job.cluster.gpus < gpus:
        move = next(_moves(start, job, framework), None)
        if move is None:
            steps.append(_step("trace.stuck" if peak(job).device > capacity else "trace.stuck.perhaps", job, domain))
            return tuple(steps)
        key, job = move
        steps.append(_step(key, job, domain))
    steps += _after(job, framework)
    return tuple(steps)


def _step(key: str, job: Job, domain: int = 0) -> Step:
    """domain: GPUs that NVLink joins on the whole cluster, of which a small batch may leave some unused."""
    layout, fullest = job.layout, peak(job)
    known = {
        "tp": layout.tp, "pp": layout.pp, "cp": layout.cp, "dp": layout.dp, "ep": layout.ep, "vpp": layout.vpp,
        "ranks": layout.sharded_over, "micro": job.micro_batch, "m": job.micro_batches,
        "recompute": job.recompute.value, "sharding": job.sharding.value,
        "states": fullest.parameters + fullest.gradients + fullest.optimizer,
        "per_node": domain or job.cluster.nvlink_domain, "layers": ceil(job.shape.layers / layout.pp),
        "peak": fullest.device, "high": fullest.high, "activations": fullest.activations,
        "capacity": job.cluster.gpu.memory, "gpus": job.cluster.gpus, "batch": job.global_batch,
        "bubble": bubble(job.schedule, layout.pp, job.micro_batches, layout.vpp),
    }  # fmt: skip
    return Step(key=key, values=known, job=job, peak=fullest)


def _whole(start: Job) -> Step:
    """What one copy of all states takes, and how many GPUs hold that without a byte for anything else."""
    alone = replace(
        start, layout=Layout(), cluster=replace(start.cluster, gpus=1, per_node=1, nvlink_domain=1),
        micro_batch=1, global_batch=1, sharding=Sharding.NONE, schedule=Schedule.ONE_F_ONE_B,
        stack=Stack.MEGATRON if start.stack is Stack.MEGATRON_FSDP else start.stack,
    )  # fmt: skip
    count = total(start.shape)
    each = least(alone) / sum(in_layers(start.shape))
    capacity = start.cluster.gpu.memory
    return Step(
        key="trace.whole",
        values={
            "parameters": count, "each": each, "states": count * each, "capacity": capacity,
            "gpus": ceil(count * each / capacity), "have": start.cluster.gpus,
        },
    )  # fmt: skip


def _plain(start: Job, framework: Framework) -> Job:
    """As much data parallelism as the batch allows, nothing else; nothing shared out where the framework can do so."""
    plain = replace(
        start, micro_batch=1, recompute=Recompute.NONE, recompute_layers=None, recompute_modules=frozenset(),
        schedule=Schedule.ONE_F_ONE_B, stack=framework.stack,
        sharding=framework.shardings[0] if framework.stack is Stack.FSDP else Sharding.NONE,
    )  # fmt: skip
    return _laid(start, plain, Layout())


def _laid(start: Job, job: Job, layout: Layout) -> Job:
    """The job in a layout of those degrees, with as much data parallelism as GPUs and batch allow; on fewer GPUs than
    there are where the batch has too few sequences for all."""
    inner = layout.tp * layout.cp * layout.pp
    dp = gcd(start.cluster.gpus // inner, start.global_batch)
    gpus = inner * dp
    node = min(start.cluster.per_node, gpus)
    cluster = replace(
        start.cluster, gpus=gpus, per_node=node, nvlink_domain=min(start.cluster.nvlink_domain, gpus),
    )  # fmt: skip
    return replace(job, cluster=cluster, layout=replace(layout, dp=dp, sp=layout.tp > 1))


def _moves(start: Job, job: Job, framework: Framework) -> Iterator[tuple[str, Job]]:
    """What could be done next, the best first: states are cut by sharding and model parallelism, activations by
    recomputing them and by context parallelism."""
    fullest = peak(job)
    kept = fullest.parameters + fullest.gradients + fullest.optimizer
    if fullest.high <= job.cluster.gpu.memory:  # GPUs are left over: the batch has too few sequences
        order, end = SPARE, ".spare"
    elif kept > MOSTLY_STATES * job.cluster.gpu.memory:
        order, end = AGAINST_STATES, ""
    else:
        order, end = AGAINST_ACTIVATIONS, ""
    for name in order:
        try:
            found = MOVES[name](start, job, framework)
        except PlanError:
            continue
        if found is not None and not problems(found):
            yield f"trace.{name}{end}", found


def _shard(start: Job, job: Job, framework: Framework) -> Job | None:
    depth = STAGES_OF_ZERO.index
    after = [sharding for sharding in framework.shardings if depth(sharding) > depth(job.sharding)]
    shares = job.layout.dp * job.layout.cp > 1
    deep = job.layout.pp > 1 and framework.stack is Stack.DEEPSPEED
    return replace(job, sharding=after[0]) if after and shares and not deep else None


def _tensor(start: Job, job: Job, framework: Framework) -> Job | None:
    """TP talks in every layer, four times and with nothing to hide behind: it stays on NVLink."""
    shape, layout = start.shape, job.layout
    heads = shape.heads if shape.mla else shape.kv_heads
    larger = [d for d in divisors(start.cluster.nvlink_domain) if d > layout.tp and heads % d == 0]
    if not framework.tensor or not larger:
        return None
    return _laid(start, job, replace(layout, tp=larger[0]))


def _pipeline(start: Job, job: Job, framework: Framework) -> Job | None:
    layout, layers = job.layout, start.shape.layers
    if not framework.pipeline:
        return None
    for pp in divisors(start.cluster.gpus // (layout.tp * layout.cp)):
        first, last = ends(start, framework, pp, {})
        if layout.pp < pp <= layers and (layers % pp == 0 or first or last or counting_ends(layers, pp)):
            cut = replace(layout, pp=pp, first=first, last=last, chunks=() if last else counting_ends(layers, pp))
            return _laid(start, job, cut)
    return None


def _context(start: Job, job: Job, framework: Framework) -> Job | None:
    cp = job.layout.cp * 2
    room = start.cluster.gpus // (job.layout.tp * job.layout.pp)
    if not framework.context or room % cp or start.seq % (2 * cp) or start.seq // cp < FEWEST_TOKENS:
        return None
    return _laid(start, job, replace(job.layout, cp=cp))


def _experts(start: Job, job: Job, framework: Framework) -> Job | None:
    found = _experts_far(start, job, framework)
    return found if found and found.layout.ep <= start.cluster.nvlink_domain else None


def _experts_far(start: Job, job: Job, framework: Framework) -> Job | None:
    moe, layout = start.shape.moe, job.layout
    if moe is None or not framework.expert:
        return None
    ranks = layout.tp * layout.cp * layout.dp
    larger = [d for d in divisors(moe.experts) if d > layout.ep and ranks % d == 0]
    return replace(job, layout=replace(layout, ep=larger[0])) if larger else None


def _recompute(start: Job, job: Job, framework: Framework) -> Job | None:
    order = framework.recomputes
    after = order[order.index(job.recompute) + 1 :]
    if not after:
        return None
    modules = MODULES[start.shape.moe is not None] if after[0] is Recompute.MODULES else frozenset()
    return replace(job, recompute=after[0], recompute_modules=modules)


MOVES: Mapping[str, Callable[[Job, Job, Framework], Job | None]] = {
    "shard": _shard,
    "tensor": _tensor,
    "pipeline": _pipeline,
    "context": _context,
    "experts": _experts,
    "experts_far": _experts_far,
    "recompute": _recompute,
}


def _after(job: Job, framework: Framework) -> Iterator[Step]:
    """What to look at once it fits: the bubble, and a larger micro-batch for what gathers parameters every time."""
    if job.layout.pp > 1:
        share = bubble(job.schedule, job.layout.pp, job.micro_batches, job.layout.vpp)
        if share > LARGE_BUBBLE and framework.interleaved:
            better = next(_interleaved(job), None)
            if better is not None:
                yield _step("trace.vpp", better)
                return
        yield _step("trace.bubble", job)
    elif job.sharding is Sharding.FULL:
        larger = replace(job, micro_batch=2 * job.micro_batch) if job.micro_batches % 2 == 0 else None
        if larger and peak(larger).high <= job.cluster.gpu.memory:
            yield _step("trace.micro", larger)


def _interleaved(job: Job) -> Iterator[Job]:
    if job.shape.layers % job.layout.pp or job.micro_batches % job.layout.pp:
        return
    for vpp in divisors(job.shape.layers // job.layout.pp)[1:]:
        cut = replace(job, layout=replace(job.layout, vpp=vpp), schedule=Schedule.INTERLEAVED)
        if bubble(cut.schedule, cut.layout.pp, cut.micro_batches, vpp) <= LARGE_BUBBLE:
            if peak(cut).high <= job.cluster.gpu.memory:
                yield cut
            return
