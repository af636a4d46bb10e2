"""What slow workers cost: the step as it was, with equal durations, and with those of one worker made equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from statistics import median

from probes.files.what_if.model import BACKWARD, FORWARD, Op, Steps, Worker
from probes.files.what_if.simulate import Step, simulate, step_of

MOST_STEPS = 64
STEPS_A_WORKER = 8
SUSPECTS = 4
SLOW = 1.05
"""Computation over that of the same stage in other pipelines from which a worker is looked at alone."""


@dataclass(slots=True)
class Answer:
    """`slowdown` is the step as it was over the step with equal durations, median over steps.

    `compute` is a worker's computation over the median of its stage; `gains` the share of the lost time that comes back
    when this worker alone gets usual durations, `together` when all that are slow get them.
    """

    slowdown: float
    ideal: float
    observed: float
    steps: int
    workers: int
    compute: dict[Worker, float] = field(default_factory=dict)
    gains: dict[Worker, float] = field(default_factory=dict)
    together: float = 0.0


def answer(steps: Steps) -> Answer | None:
    """None when no step has operations that compute; raises Stuck when every step lacks rows."""
    chosen = [step_of(steps.by_step[number]) for number in _spread(sorted(steps.by_step), MOST_STEPS)]
    chosen = [step for step in chosen if any(op.kind in (FORWARD, BACKWARD) for op in step.ops)]
    if not chosen:
        return None
    ratios, ideals = [], []
    for step in chosen:
        ideal = simulate(step, lambda op, step=step: step.usual[op.kind])  # type: ignore[misc]
        ideals.append(ideal)
        ratios.append(simulate(step, lambda op: op.duration) / ideal if ideal > 0 else 1.0)
    compute = _compute(chosen)
    observed = median(step.observed for step in chosen)
    found = Answer(median(ratios), median(ideals), observed, len(chosen), len(compute), compute)
    suspects = sorted((w for w in compute if compute[w] > SLOW), key=lambda worker: -compute[worker])[:SUSPECTS]
    few = [chosen[place] for place in _spread(range(len(chosen)), STEPS_A_WORKER)]
    for worker in suspects:
        found.gains[worker] = median(_gain(step, {worker}) for step in few)
    if suspects:
        found.together = median(_gain(step, set(suspects)) for step in few)
    return found


def _gain(step: Step, workers: Container[Worker]) -> float:
    """Share of the loss that vanishes when the workers take what others of their stage take."""
    peers: dict[tuple[int, str], list[float]] = defaultdict(list)
    for op in step.ops:
        peers[op.worker[1], op.kind].append(op.duration)
    usual = {key: median(values) for key, values in peers.items()}

    def repaired(op: Op) -> float:
        return usual[op.worker[1], op.kind] if op.worker in workers else op.duration

    before = simulate(step, lambda op: op.duration)
    best = simulate(step, lambda op: usual[op.worker[1], op.kind])
    return (before - simulate(step, repaired)) / (before - best) if before > best else 0.0


def _compute(steps: list[Step]) -> dict[Worker, float]:
    """Computation of each worker over the median of its stage, over all steps."""
    total: dict[Worker, float] = defaultdict(float)
    for step in steps:
        for op in step.ops:
            if op.kind in (FORWARD, BACKWARD):
                total[op.worker] += op.duration
    of_stage: dict[int, list[float]] = defaultdict(list)
    for (_, stage), time in total.items():
        of_stage[stage].append(time)
    middle = {stage: median(times) for stage, times in of_stage.items()}
    return {worker: time / middle[worker[1]] for worker, time in total.items() if middle[worker[1]] > 0}


def _spread(values: range | list[int], most: int) -> list[int]:
    """At most so many of `values`, evenly over all."""
    count = len(values)
    return [values[place * count // most] for place in range(most)] if count > most else list(values)
