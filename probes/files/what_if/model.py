"""Operations of a step as workers timed them. A worker is one stage of one pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

FORWARD, BACKWARD = "forward-compute", "backward-compute"
SENDS = {"forward-send": ("forward-recv", 1), "backward-send": ("backward-recv", -1)}
RECEIVES = frozenset(receive for receive, _ in SENDS.values())
SHARED = {
    "grads-reduce-scatter": "stage",
    "grads-all-reduce": "stage",
    "params-all-gather": "stage",
    "embedding-grads-all-reduce": "pipeline",
    "optimizer-clip-main-grad": "all",
}
"""Operations in which workers wait for each other: those of one stage, of one pipeline, or all."""

NEEDED = ("step", "optype", "start_ts", "duration", "dp_rank", "stage")
FURTHER = ("rank", "seq_id", "mc", "mb_id")

Worker: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Op:
    """One operation: `chunk` is the part of the model on the stage, `micro` the micro-batch; times in seconds."""

    worker: Worker
    kind: str
    start: float
    duration: float
    number: int
    chunk: int
    micro: int

    @property
    def end(self) -> float:
        return self.start + self.duration

    @property
    def meeting(self) -> tuple[str, int] | None:
        """Whom the operation waits for, if it does."""
        shared = SHARED.get(self.kind)
        where = {"stage": self.worker[1], "pipeline": self.worker[0], "all": 0}
        return (self.kind, where[shared]) if shared else None


@dataclass(frozen=True, slots=True)
class Steps:
    """Operations by step, and the rank that a worker's times are of."""

    by_step: Mapping[int, Sequence[Op]]
    ranks: Mapping[Worker, int]
    damaged: int = 0


def steps_of(columns: Mapping[str, Sequence[Any]]) -> Steps:
    """The steps of a table; rows without sense are left out and counted."""
    by_step: dict[int, list[Op]] = {}
    ranks: dict[Worker, int] = {}
    damaged = 0
    further = [columns.get(name) for name in FURTHER]
    for row, values in enumerate(zip(*(columns[name] for name in NEEDED), strict=True)):
        try:
            step, kind, start, duration = int(values[0]), str(values[1]), float(values[2]), float(values[3])
            worker = int(values[4]), int(values[5])
            rank, number, chunk, micro = (int(column[row]) if column is not None else -1 for column in further)
        except (TypeError, ValueError, OverflowError):
            damaged += 1
            continue
        if not (isfinite(start) and isfinite(duration)) or duration < 0 or min(worker) < 0:
            damaged += 1
            continue
        by_step.setdefault(step, []).append(Op(worker, kind, start, duration, number, max(chunk, 0), micro))
        if rank >= 0:
            ranks[worker] = min(rank, ranks.get(worker, rank))
    return Steps(by_step, ranks, damaged)
