"""Several remedies as one plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from doctor.planner.assess import Assessment, assess
from doctor.planner.calibrate import Calibration
from doctor.planner.effect import Effect, effect, readable
from doctor.planner.errors import PlanError
from doctor.planner.job import Job
from doctor.planner.knobs import apply
from doctor.rulebase.model import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A remedy that is not part of the plan. knob: the setting that another one, `against`, already sets otherwise; or
    why the job would not start."""

    name: str
    knob: str = ""
    against: str = ""
    why: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """taken: names of the remedies in their order; effect: of all together; settings: what they set."""

    taken: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    settings: Mapping[str, Any]
    effect: Effect


def compose(
    job: Job,
    remedies: Iterable[tuple[str, Mapping[str, Any]]],
    before: Assessment | None = None,
    calibration: Calibration | None = None,
) -> Plan | None:
    """One plan of the remedies (name, patch in neutral names), the more important ones first; None where none of them
    changes anything.

    A remedy is left out whole where it sets a setting that an earlier one sets otherwise, and where the job with it
    would not start: half a remedy helps nobody.
    """
    before = before or assess(job, calibration)
    taken: list[str] = []
    rejected: list[Rejected] = []
    settings: dict[str, Any] = {}
    owner: dict[str, str] = {}
    for name, patch in remedies:
        try:
            wanted = readable(job, patch)
            clash = next((knob for knob, value in wanted.items() if settings.get(knob, value) != value), None)
            if clash:
                rejected.append(Rejected(name=name, knob=clash, against=owner[clash]))
                continue
            now = apply(job, settings) if settings else job
            if effect(now, wanted, before, calibration) is None:
                continue
        except PlanError as error:
            rejected.append(Rejected(name=name, why=error.text))
            continue
        taken.append(name)
        owner.update(dict.fromkeys(wanted, name))
        settings.update(wanted)
    whole = effect(job, settings, before, calibration) if settings else None
    if whole is None:
        return None
    return Plan(taken=tuple(taken), rejected=tuple(rejected), settings=settings, effect=whole)
