"""A step run again with other durations: operations keep their order on each worker and wait for what they need.

The question and the idea of equal durations are those of Lin et al., Understanding Stragglers in Large Model Training
Using What-if Analysis (https://arxiv.org/abs/2505.05713); the dependencies are those of any pipeline schedule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from probes.files.what_if.model import BACKWARD, FORWARD, RECEIVES, SENDS, Op, Worker


class Stuck(Exception):
    """Operations need what never comes: rows are missing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its operations that run on workers in order, and what a transfer takes once both sides are there."""

    ops: tuple[Op, ...]
    transfer: float
    shared: dict[str, float]
    usual: dict[str, float]
    observed: float


def step_of(ops: Sequence[Op]) -> Step:
    """What of the times is work and not waiting: transfers count from when the last side came.

    Of operations that several meet in, the fastest meeting counts: others may have waited for something else.
    """
    ends = {(op.worker, op.kind, op.number): op for op in ops if op.kind in SENDS or op.kind in RECEIVES}
    transfers = []
    for (worker, kind, number), op in ends.items():
        if kind in SENDS:
            receive, way = SENDS[kind]
            other = ends.get(((worker[0], worker[1] + way), receive, number))
            if other is not None:
                transfers.append(max(min(op.end, other.end) - max(op.start, other.start), 0.0))
    meetings: dict[tuple[str, int], list[Op]] = defaultdict(list)
    durations: dict[str, list[float]] = defaultdict(list)
    for op in ops:
        durations[op.kind].append(op.duration)
        if op.meeting:
            meetings[op.meeting].append(op)
    shared: dict[str, float] = {}
    for (kind, _), there in meetings.items():
        own = max(max(op.end for op in there) - max(op.start for op in there), 0.0)
        shared[kind] = min(own, shared.get(kind, own))
    local = sorted((op for op in ops if op.kind not in SENDS and op.kind not in RECEIVES), key=lambda op: op.start)
    observed = max(op.end for op in ops) - min(op.start for op in ops)
    usual = {kind: fmean(values) for kind, values in durations.items()}
    return Step(tuple(local), median(transfers) if transfers else 0.0, shared, usual, observed)


def simulate(step: Step, duration: Callable[[Op], float]) -> float:
    """How long the step takes if each operation took `duration`; raises Stuck when rows are missing."""
    queues: dict[Worker, list[Op]] = defaultdict(list)
    for op in step.ops:
        queues[op.worker].append(op)
    stages = max(op.worker[1] for op in step.ops) + 1
    last = stages * (max(op.chunk for op in step.ops) + 1) - 1
    expected = Counter(op.meeting for op in step.ops)
    done: dict[tuple[str, int, int, int], float] = {}
    clock: dict[Worker, float] = defaultdict(float)
    place: dict[Worker, int] = defaultdict(int)
    met: dict[tuple[str, int], dict[Worker, float]] = defaultdict(dict)
    ready = list(queues)
    waiting: dict[object, list[Worker]] = defaultdict(list)
    while ready:
        worker = ready.pop()
        while place[worker] < len(queues[worker]):
            op = queues[worker][place[worker]]
            start, made = clock[worker], None
            if op.kind in (FORWARD, BACKWARD):
                depth = op.chunk * stages + worker[1]
                before = depth - 1 if op.kind == FORWARD else depth + 1
                made = (op.kind, worker[0], depth, op.micro)
                if 0 <= before <= last:
                    need = (op.kind, worker[0], before, op.micro)
                    if need not in done:
                        waiting[need].append(worker)
                        break
                    start = max(start, done[need] + step.transfer)
            elif (meeting := op.meeting) is not None:
                met[meeting][worker] = start
                if len(met[meeting]) < expected[meeting]:
                    break
                end = max(met[meeting].values()) + step.shared[op.kind]
                for other in met[meeting]:
                    clock[other] = end
                    place[other] += 1
                ready += [other for other in met[meeting] if other != worker]
                continue
            clock[worker] = start + duration(op)
            place[worker] += 1
            if made is not None:
                done[made] = clock[worker]
                ready += waiting.pop(made, ())
    if any(place[worker] < len(queue) for worker, queue in queues.items()):
        raise Stuck("operations wait for others that are not in the table")
    return max(clock.values())
