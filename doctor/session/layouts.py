"""Other layouts for a job, searched for while a person waits: the best few, as settings that can be taken."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from doctor.planner.assess import Assessment, assess
from doctor.planner.calibrate import Calibration
from doctor.planner.errors import PlanError
from doctor.planner.frameworks import of_stack
from doctor.planner.hardware import gpu, node_of
from doctor.planner.job import Job
from doctor.planner.knobs import apply, difference
from doctor.planner.pareto import Candidate
from doctor.planner.search import VARIED, Found, search
from doctor.rulebase.model import Text

SECONDS, SHOWN = 4.0, 6
STAND_IN = "H100"
"""Whose speed orders layouts where the GPU is not known; its times are not shown."""
# Settings that follow from the others when they are applied.
FOLLOW = frozenset({"grad_accum", "schedule", "stack"})

Told = Callable[[int], bool]
"""Is told how many layouts were considered; False ends the search."""


@dataclass(frozen=True, slots=True)
class Layout:
    """settings: what makes the layout of today's job, by neutral names; job: what it costs; distance: how many settings
    differ, those that cut states anew twice."""

    settings: Mapping[str, Any]
    job: Assessment
    distance: int


@dataclass(frozen=True, slots=True)
class Layouts:
    """options: those that fit for certain first, each fastest first. considered: with chunks, micro-batch and
    recomputation; stopped: time was up before all were looked at; like: the GPU whose speed ordered them, where the
    job's is not known; problem: why there are none, missing: the facts without which there is no job to search for;
    held: settings that were kept as they are."""

    options: tuple[Layout, ...] = ()
    layouts: int = 0
    considered: int = 0
    certain: int = 0
    stopped: bool = False
    like: str = ""
    problem: Text | None = None
    missing: tuple[str, ...] = ()
    held: Mapping[str, Any] = field(default_factory=dict)


def find_layouts(
    today: Job,
    framework: str = "",
    held: Mapping[str, Any] | None = None,
    told: Told | None = None,
    calibration: Calibration | None = None,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Layouts:
    """Searches the legal layouts of the job; settings in `held` stay. Ends after `seconds` with what was found."""
    end = clock() + seconds

    def going(considered: int) -> bool:
        return (told is None or told(considered)) and clock() < end

    fixed = dict(held or {})
    try:
        base = apply(today, {name: value for name, value in fixed.items() if name not in VARIED})
        wanted = {name: value for name, value in fixed.items() if name in VARIED}
        timed = base.cluster.gpu.peak_bf16 is not None
        found = search(
            base if timed else _as_on_stand_in(base), of_stack(today.stack, framework), wanted, base, SHOWN,
            calibration if timed else None, going,
        )  # fmt: skip
    except PlanError as error:
        return Layouts(problem=error.text, held=fixed)
    options = _options(today, base, found, calibration)
    return Layouts(
        options, found.layouts, found.considered, found.certain, found.stopped, "" if timed else STAND_IN, held=fixed
    )


def _as_on_stand_in(job: Job) -> Job:
    cluster = job.cluster
    alike = node_of(replace(gpu(STAND_IN), memory=cluster.gpu.memory), cluster.gpus, cluster.per_node)
    return replace(job, cluster=alike)


def _options(today: Job, base: Job, found: Found, calibration: Calibration | None) -> tuple[Layout, ...]:
    rows: list[Layout] = []
    for candidate in dict.fromkeys((*found.best, *found.front)):
        if len(rows) < SHOWN and (row := _option(today, base, candidate, calibration)) is not None:
            rows.append(row)
    return tuple(sorted(rows, key=lambda row: row.job.fits is not True))


def _option(today: Job, base: Job, candidate: Candidate, calibration: Calibration | None) -> Layout | None:
    """The candidate as settings; None for today's own layout and for one that settings do not tell whole."""
    job = replace(candidate.job, cluster=base.cluster)
    settings = {name: new for name, (_, new) in difference(today, job).items() if name not in FOLLOW}
    try:
        if not settings or apply(today, settings) != job:
            return None
        return Layout(settings, assess(job, calibration), candidate.distance)
    except PlanError:
        return None
