"""Everything that `pdoctor plan` has to say of a job: today's layout, how to find one, the candidates, a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doctor.planner.assess import Assessment, assess
from doctor.planner.calibrate import Calibration
from doctor.planner.effect import Effect, effect
from doctor.planner.errors import PlanError
from doctor.planner.frameworks import Framework
from doctor.planner.job import Job
from doctor.planner.knobs import apply
from doctor.planner.legality import problems
from doctor.planner.pareto import Candidate, chosen, tied, to_measure
from doctor.planner.search import VARIED, Found, search
from doctor.planner.trace import Step, trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """base: the job without regard to its layout. today: how it runs now. change: what-if settings on today's job.
    steps, found: the strategy and the candidates, where layouts were searched. assumed: what had to be, by name.
    held: settings of the layout that were not searched, which the strategy does without."""

    base: Job
    framework: Framework
    today: Assessment | None = None
    change: Effect | None = None
    steps: tuple[Step, ...] = ()
    found: Found | None = None
    assumed: tuple[tuple[str, str], ...] = ()
    held: tuple[str, ...] = ()

    @property
    def chosen(self) -> Candidate | None:
        return chosen(self.found.front) if self.found else None

    @property
    def tied(self) -> tuple[Candidate, ...]:
        return tied(self.found.front) if self.found else ()

    @property
    def to_measure(self) -> tuple[Candidate, ...]:
        return to_measure(self.found.best) if self.found else ()


def plan(
    base: Job,
    framework: Framework,
    today: Job | None = None,
    settings: Mapping[str, Any] | None = None,
    calibration: Calibration | None = None,
    assumed: tuple[tuple[str, str], ...] = (),
) -> Planning:
    """The layouts for `base`, with `settings` held fixed. Raises PlanError."""
    held = dict(settings or {})
    fixed = apply(base, {name: held[name] for name in held if name not in VARIED})
    varied = {name: held[name] for name in held if name in VARIED}
    return Planning(
        base=fixed,
        framework=framework,
        today=assess(today, calibration) if today else None,
        steps=trace(fixed, framework),
        found=search(fixed, framework, varied, today, calibration=calibration),
        assumed=assumed,
        held=tuple(f"{name}={value}" for name, value in varied.items()),
    )


def what_if(
    job: Job,
    framework: Framework,
    settings: Mapping[str, Any],
    known: bool = True,
    calibration: Calibration | None = None,
    assumed: tuple[tuple[str, str], ...] = (),
) -> Planning:
    """What the settings would do to the job, without a search. known: the job runs as it is; else only the job with the
    settings is of interest. Raises PlanError where the framework would refuse it."""
    after = apply(job, settings)
    refused = problems(after)
    if refused:
        raise PlanError(refused[0])
    if not known:
        return Planning(base=after, framework=framework, today=assess(after, calibration), assumed=assumed)
    before = assess(job, calibration)
    return Planning(
        base=job, framework=framework, today=before, change=effect(job, settings, before, calibration), assumed=assumed,
    )  # fmt: skip
