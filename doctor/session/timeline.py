"""The pipeline of one step as a picture: when each stage works on which micro-batch, and when it waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from doctor.planner.job import Job, Schedule

FORWARD, BACKWARD = "F", "B"
LENGTH = {FORWARD: 1.0, BACKWARD: 2.0}
"""A backward pass is two passes over the matrix products, a forward pass one."""
MOST_STAGES, MOST_PASSES = 64, 8_192


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a micro-batch through a chunk of a stage; times in forward passes of a whole stage."""

    kind: str
    micro_batch: int
    chunk: int
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """`stages` in order, each with its passes; `whole` is the time of the step in the same unit."""

    stages: tuple[tuple[Pass, ...], ...]
    whole: float


def timeline_of(job: Job) -> Timeline | None:
    """The step of a job whose stages take equal time and whose transfers take none.

    None without a pipeline, for schedules other than GPipe, 1F1B and its interleaved form, and where it is too large.
    The orders are those of Narayanan et al., SC21, section 2.2 (figures 3 and 4), and of GPipe (arXiv 1811.06965).
    """
    p, m = job.layout.pp, job.micro_batches
    v = job.layout.vpp if job.schedule is Schedule.INTERLEAVED else 1
    if p < 2 or p > MOST_STAGES or 2 * p * m * v > MOST_PASSES:
        return None
    if job.schedule is Schedule.GPIPE:
        orders = [[(FORWARD, i, 0) for i in range(m)] + [(BACKWARD, i, 0) for i in range(m)]] * p
    elif job.schedule is Schedule.ONE_F_ONE_B or (job.schedule is Schedule.INTERLEAVED and v == 1):
        orders = [list(_alternating(_passes(p, m, 1), min(p - stage - 1, m))) for stage in range(p)]
    elif job.schedule is Schedule.INTERLEAVED and m % p == 0:
        warm = [min(2 * (p - stage - 1) + (v - 1) * p, m * v) for stage in range(p)]
        orders = [list(_alternating(_passes(p, m, v), warm[stage])) for stage in range(p)]
    else:
        return None
    return _run(orders, v)


Step = tuple[str, int, int]


def _passes(p: int, m: int, v: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Micro-batch and chunk of the forward and the backward passes in their order: groups of p micro-batches run
    through one chunk after the other, backwards through the chunks from the last."""
    forward = [(i, c) for start in range(0, m, p) for c in range(v) for i in range(start, min(start + p, m))]
    return forward, [(i, v - 1 - c) for i, c in forward]


def _alternating(passes: tuple[list[tuple[int, int]], list[tuple[int, int]]], warm: int) -> Iterator[Step]:
    """`warm` forward passes, then one forward and one backward in turn, then the backward passes that are left."""
    forward, backward = passes
    for index in range(len(forward) + warm):
        if index < len(forward):
            yield (FORWARD, *forward[index])
        if index >= warm:
            yield (BACKWARD, *backward[index - warm])


def _run(orders: list[list[Step]], v: int) -> Timeline | None:
    """Every stage does its passes in their order, each as soon as the one that it needs is done."""
    p = len(orders)
    done: dict[tuple[int, Step], float] = {}
    clock, position = [0.0] * p, [0] * p
    rows: list[list[Pass]] = [[] for _ in range(p)]
    moved = True
    while moved:
        moved = False
        for stage in range(p):
            while position[stage] < len(orders[stage]):
                step = orders[stage][position[stage]]
                need = _needs(stage, step, p, v)
                if need is not None and need not in done:
                    break
                start = max(clock[stage], done[need] if need else 0.0)
                clock[stage] = done[stage, step] = start + LENGTH[step[0]] / v
                rows[stage].append(Pass(step[0], step[1], step[2], start, LENGTH[step[0]] / v))
                position[stage] += 1
                moved = True
    if any(at < len(order) for at, order in zip(position, orders, strict=True)):
        return None
    return Timeline(tuple(tuple(row) for row in rows), max(clock))


def _needs(stage: int, step: Step, p: int, v: int) -> tuple[int, Step] | None:
    kind, i, chunk = step
    if kind == FORWARD:
        if stage > 0:
            return stage - 1, step
        return (p - 1, (FORWARD, i, chunk - 1)) if chunk > 0 else None
    if stage < p - 1:
        return stage + 1, step
    return (0, (BACKWARD, i, chunk + 1)) if chunk < v - 1 else (stage, (FORWARD, i, chunk))
