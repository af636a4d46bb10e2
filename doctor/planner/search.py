"""All legal layouts of a job, those that fit, and the few that are worth looking at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from doctor.planner.bubble import bubble
from doctor.planner.calibrate import Calibration
from doctor.planner.communication.links import span
from doctor.planner.communication.transfer import Group
from doctor.planner.errors import PlanError, reason
from doctor.planner.frameworks import Framework
from doctor.planner.job import Job, Recompute, Schedule, Sharding, Stack
from doctor.planner.knobs import apply
from doctor.planner.layout import Layout
from doctor.planner.legality import problems
from doctor.planner.memory.breakdown import StageMemory
from doctor.planner.pareto import Candidate, distance, front, shortlist
from doctor.planner.peak import least, peak
from doctor.planner.space import chunk_counts, counting_ends, layouts, micro_batches
from doctor.planner.step_time import step_time
from doctor.rulebase.model import Text

SHOWN = 8
ROLES = ("tp", "cp", "ep", "dp", "pp")
SMOOTH = 0.01  # a bubble below this is not worth further chunks, which cost transfers
TIGHT = 0.05  # of the GPU: less headroom than this is called tight
VARIED = frozenset({
    "tp", "cp", "pp", "dp", "ep", "etp", "vpp", "shard", "first", "last", "sp", "micro_batch", "grad_accum",
    "recompute", "recompute_layers", "recompute_modules", "sharding", "zero_stage",
})  # fmt: skip
# What Megatron-LM recomputes at little cost: the inner of the MLP, or around experts norms and activations alone.
MODULES = {False: frozenset({"mlp"}), True: frozenset({"layernorm", "moe_act"})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search comes to. best: the shown candidates, fastest first; front: all that nothing beats; layouts: legal
    sets of degrees; considered: these with chunks, micro-batch and recomputation; too_big: of these, those whose memory
    cannot hold them; certain: those that fit for certain; stopped: not all were looked at."""

    best: tuple[Candidate, ...]
    front: tuple[Candidate, ...]
    layouts: int
    considered: int
    too_big: int
    certain: int
    stopped: bool = False


def search(
    base: Job,
    framework: Framework,
    fixed: Mapping[str, Any] | None = None,
    today: Job | None = None,
    top: int = SHOWN,
    calibration: Calibration | None = None,
    going: Callable[[int], bool] | None = None,
) -> Found:
    """The candidates for the job `base`, whose layout, micro-batch, recomputation and sharding are varied.

    Settings in `fixed` stay. `today`: the job as it runs now, from which distances are counted;
    `calibration`: a measured step of it. `going` is told how many were considered, and ends the search by False.
    Raises PlanError where no layout is legal. A search does not claim an optimum:
    see `pareto.tied`.
    """
    held = dict(fixed or {})
    base = apply(base, {name: held.pop(name) for name in tuple(held) if name not in VARIED})
    if "zero_stage" in held:
        held["sharding"] = held.pop("zero_stage")
    tally = _Tally(going)
    found = [_candidate(job, full, today, calibration) for job, full in _fitting(base, framework, held, tally)]
    if not tally.layouts:
        raise PlanError(_why_none(base, held))
    ordered = front(found)
    return Found(
        best=shortlist(ordered, top),
        front=tuple(ordered),
        layouts=tally.layouts,
        considered=tally.considered,
        too_big=tally.too_big,
        certain=sum(candidate.fits for candidate in found),
        stopped=tally.stopped,
    )


def judge(job: Job, today: Job | None = None, calibration: Calibration | None = None) -> Candidate:
    """One job as a candidate, whether it fits or not."""
    return _candidate(job, peak(job), today, calibration)


def _candidate(job: Job, fullest: StageMemory, today: Job | None, calibration: Calibration | None) -> Candidate:
    time = step_time(job)
    if calibration:
        time = calibration.apply(job, time)
    waits = sum(getattr(time, role) for role in ROLES) / time.likely
    return Candidate(
        job=job, waits=waits, low=time.low, likely=time.likely, high=time.high, peak=fullest.high, usual=fullest.device,
        risks=_risks(job, fullest.high), distance=distance(today, job),
    )  # fmt: skip


@dataclass(slots=True)
class _Tally:
    going: Callable[[int], bool] | None = None
    layouts: int = 0
    considered: int = 0
    too_big: int = 0
    stopped: bool = False

    def goes_on(self) -> bool:
        self.stopped = self.stopped or (self.going is not None and not self.going(self.considered))
        return not self.stopped


def _fitting(
    base: Job, framework: Framework, fixed: Mapping[str, Any], tally: _Tally
) -> Iterator[tuple[Job, StageMemory]]:
    """Legal jobs that may fit, with as little recomputation as that takes."""
    capacity = base.cluster.gpu.memory
    for layout in layouts(base, framework, fixed):
        sizes = micro_batches(base, layout, fixed)
        for sharding in _shardings(base, framework, layout, fixed) if sizes else ():
            plain = _job(base, layout, sharding, sizes[0])
            if problems(plain):
                continue
            if not tally.goes_on():
                return
            tally.layouts += 1
            hopeless = least(plain) > capacity
            smooth: set[int] = set()  # micro-batches whose bubble more chunks would not shorten any more
            needed: dict[int, int] = {}  # step of recomputation with which a micro-batch fits in one chunk a stage
            counts = chunk_counts(base, framework, layout, fixed)
            for number, vpp in enumerate(counts):
                begin = 0
                for micro in sizes:
                    job = _cut(plain, vpp, micro)
                    if fixed.get("grad_accum", job.micro_batches) != job.micro_batches or (vpp > 1 and problems(job)):
                        continue
                    if micro in smooth or _between(job, counts, number):
                        continue
                    if bubble(job.schedule, layout.pp, job.micro_batches, vpp) < SMOOTH:
                        smooth.add(micro)
                    tally.considered += 1
                    # More chunks and a larger micro-batch need more memory, so no less recomputation.
                    begin = max(begin, needed.get(micro, 0))
                    fitting = () if hopeless else tuple(_recomputed(job, framework, fixed, capacity, begin))
                    tally.too_big += not fitting
                    yield from ((step, fullest) for _, step, fullest in fitting)
                    if not fitting:
                        break
                    begin = fitting[0][0]
                    if vpp == 1:
                        needed[micro] = begin


def _between(job: Job, counts: tuple[int, ...], number: int) -> bool:
    """Is count `number` neither one chunk nor the last that shortens the bubble?

    More chunks hold less and wait less than fewer do, beyond the first cut, and cost transfers alone.
    """
    if not 0 < number < len(counts) - 1:
        return False
    return bubble(Schedule.INTERLEAVED, job.layout.pp, job.micro_batches, counts[number]) >= SMOOTH


def _recomputed(
    job: Job, framework: Framework, fixed: Mapping[str, Any], capacity: float, begin: int
) -> Iterator[tuple[int, Job, StageMemory]]:
    """The job with the least recomputation that fits for certain, and those before it that may fit, with the number of
    the step of recomputation; those before step `begin` are known not to fit."""
    if "recompute" in fixed or "recompute_modules" in fixed or "recompute_layers" in fixed:
        names = ("recompute", "recompute_modules", "recompute_layers")
        steps = [apply(job, {name: fixed[name] for name in names if name in fixed})]
    else:
        steps = [_with(job, recompute) for recompute in framework.recomputes]
    for number in range(begin, len(steps)):
        fullest = peak(steps[number])
        if fullest.low <= capacity:
            yield number, steps[number], fullest
        if fullest.high <= capacity:
            return


def _with(job: Job, recompute: Recompute) -> Job:
    if recompute is Recompute.NONE:
        return job
    modules = MODULES[job.shape.moe is not None] if recompute is Recompute.MODULES else frozenset()
    return replace(job, recompute=recompute, recompute_modules=modules)


def _shardings(base: Job, framework: Framework, layout: Layout, fixed: Mapping[str, Any]) -> tuple[Sharding, ...]:
    if "sharding" in fixed:
        return (fixed["sharding"],)
    if layout.dp * layout.cp == 1 and base.stack is not Stack.FSDP:
        return (Sharding.NONE,)
    if layout.shard:
        return tuple(s for s in framework.shardings if s is Sharding.FULL)
    return framework.shardings


def _job(base: Job, layout: Layout, sharding: Sharding, micro: int) -> Job:
    megatron = base.stack in (Stack.MEGATRON, Stack.MEGATRON_FSDP)
    deep = sharding in (Sharding.GRADIENTS, Sharding.FULL)
    stack = (Stack.MEGATRON_FSDP if deep else Stack.MEGATRON) if megatron else base.stack
    return replace(
        base, layout=layout, micro_batch=micro, sharding=sharding, stack=stack, recompute=Recompute.NONE,
        recompute_layers=None, recompute_modules=frozenset(),
        schedule=base.schedule if layout.pp > 1 and base.schedule is not Schedule.INTERLEAVED else Schedule.ONE_F_ONE_B,
    )  # fmt: skip


def _cut(job: Job, vpp: int, micro: int) -> Job:
    if vpp == 1:
        return job if micro == job.micro_batch else replace(job, micro_batch=micro)
    layout = replace(job.layout, vpp=vpp, chunks=counting_ends(job.shape.layers, job.layout.pp * vpp))
    return replace(job, layout=layout, micro_batch=micro, schedule=Schedule.INTERLEAVED)


def _risks(job: Job, high: float) -> tuple[str, ...]:
    capacity = job.cluster.gpu.memory
    found = []
    if high > capacity:
        found.append("memory")
    elif capacity - high < TIGHT * capacity:
        found.append("tight")
    layout = job.layout
    far = [group for group, ranks in ((Group.EP, layout.ep), (Group.CP, layout.cp), (Group.TP, layout.tp)) if ranks > 1]
    found += [f"{group.value}.nodes" for group in far if span(group, layout, job.cluster).nodes > 1]
    if layout.first or layout.last or layout.chunks:
        found.append("uneven")
    return tuple(found)


def _why_none(base: Job, fixed: Mapping[str, Any]) -> Text:
    """Why no layout is legal, from the job that the fixed settings alone would make."""
    try:
        lines = problems(apply(base, {name: value for name, value in fixed.items() if name != "grad_accum"}))
    except PlanError as error:
        return error.text
    if lines and fixed:
        return lines[0]
    held = ", ".join(f"{name}={value}" for name, value in fixed.items())
    job = {"gpus": base.cluster.gpus, "model": base.shape.name, "seq": base.seq, "batch": base.global_batch}
    return reason("reason.no_layout.held", held=held, **job) if held else reason("reason.no_layout", **job)
