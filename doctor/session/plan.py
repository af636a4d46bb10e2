"""The planner's part of a session: today's job from files, what remedies would do to it, one plan of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from doctor.engine.model import Diagnosis
from doctor.facts.store import FactStore
from doctor.planner.assess import Assessment, assess
from doctor.planner.calibrate import Calibration, calibrate
from doctor.planner.compose import Plan, compose
from doctor.planner.effect import Effect, effect
from doctor.planner.errors import PlanError
from doctor.planner.from_facts import Understood, understand
from doctor.planner.job import Job
from doctor.planner.knobs import known
from doctor.rulebase.model import Severity, Text
from doctor.session.report import Patched, Patches

OWN = "own"
"""The name of a person's own settings among those of remedies."""


@dataclass(frozen=True, slots=True)
class Planned:
    """understood: what the facts say of the job. before: that job, None where facts do not suffice. effects: by (rule,
    remedy), of each alone. refused: why a remedy has no effect to show, by the same. plan: of the first remedies of all
    roots together. calibrated: by a measured step time of the job."""

    understood: Understood
    before: Assessment | None = None
    effects: Mapping[tuple[str, str], Effect] = field(default_factory=dict)
    refused: Mapping[tuple[str, str], Text] = field(default_factory=dict)
    plan: Plan | None = None
    calibrated: bool = False


def planned(diagnosis: Diagnosis, store: FactStore, patches: Patches) -> Planned | None:
    """What the planner can say of the remedies; None where none of them changes a setting that it knows.

    Nothing is guessed of the model: where its shape, the GPUs or the batch are not known, the missing facts are named.
    """
    wanted = _wanted(patches)
    if not wanted:
        return None
    base = as_it_is(store)
    if base.before is None:
        return base
    return _with_effects(base, diagnosis, store, wanted)


def as_it_is(store: FactStore, **given: Any) -> Planned:
    """The job as the facts tell it, without any change. `given`: what a person says beside (see from_facts)."""
    understood = understand(store, **given)
    job = understood.job
    if job is None:
        return Planned(understood)
    calibration = measured(store, job)
    try:
        return Planned(understood, assess(job, calibration), calibrated=calibration is not None)
    except PlanError as error:
        return Planned(replace(understood, job=None, problem=error.text))


def again(diagnosis: Diagnosis, store: FactStore, patches: Patches, **given: Any) -> Planned:
    """The whole once more with what a person says of the job beside; also where no remedy sets anything."""
    base = as_it_is(store, **given)
    return base if base.before is None else _with_effects(base, diagnosis, store, _wanted(patches))


def _wanted(patches: Patches) -> dict[tuple[str, str], dict[str, Any]]:
    """The remedies' settings, where the planner knows one of them."""
    wanted = {key: _settings(patch) for key, patch in patches.items()}
    return {key: patch for key, patch in wanted.items() if any(known(name) for name in patch)}


def _with_effects(
    base: Planned, diagnosis: Diagnosis, store: FactStore, wanted: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Planned:
    job, before = base.understood.job, base.before
    if job is None or before is None:
        return base
    calibration = measured(store, job)
    effects: dict[tuple[str, str], Effect] = {}
    refused: dict[tuple[str, str], Text] = {}
    for key, patch in wanted.items():
        try:
            found = effect(job, patch, before, calibration)
        except PlanError as error:
            refused[key] = error.text
        else:
            if found is not None:
                effects[key] = found
    whole = _together(_alternatives(diagnosis, wanted, effects), job, before, calibration)
    return replace(base, effects=effects, refused=refused, plan=whole)


def planned_with(
    known: Planned, names: Sequence[str], store: FactStore, patches: Patches, own: Mapping[str, Any] | None = None
) -> Planned:
    """The same, with the plan of a person's `own` settings and, beside these, of the remedies `names` (each
    `RULE:remedy`) in place of its own."""
    if known.before is None or known.understood.job is None:
        return known
    wanted: Remedies = [(name, _settings(patches[key])) for name in names if (key := _key(name)) in patches]
    wanted = [(OWN, own), *wanted] if own else wanted
    job = known.understood.job
    whole = compose(job, wanted, known.before, measured(store, job)) if wanted else None
    return replace(known, plan=whole)


def _key(name: str) -> tuple[str, str]:
    rule, _, remedy = name.partition(":")
    return rule, remedy


def _settings(patch: Mapping[str, Patched]) -> dict[str, Any]:
    return {name: patched.then for name, patched in patch.items() if patched.then is not None}


Remedies = list[tuple[str, Mapping[str, Any]]]


def _alternatives(
    diagnosis: Diagnosis, wanted: Mapping[tuple[str, str], Mapping[str, Any]], effects: Mapping[tuple[str, str], Effect]
) -> list[Remedies]:
    """For every root that alarms its remedies that have an effect, in the order of the rule."""
    roots = [root for root in diagnosis.roots if root.severity in (Severity.FATAL, Severity.DEGRADED)]
    found = [
        [
            (f"{root.rule.id}:{remedy.id}", wanted[root.rule.id, remedy.id])
            for remedy in root.rule.remedies
            if not remedy.avoid and (root.rule.id, remedy.id) in effects
        ]
        for root in roots
    ]
    return [remedies for remedies in found if remedies]


def _together(roots: list[Remedies], job: Job, before: Assessment, calibration: Calibration | None) -> Plan | None:
    """The first remedy of every root; where that does not make a job fit that did not, further ones of the same roots
    until it does."""
    taken = [remedies[0] for remedies in roots]
    rest = [remedy for remedies in roots for remedy in remedies[1:]]
    whole = compose(job, taken, before, calibration) if taken else None
    while whole and rest and before.fits is not True and whole.effect.after.fits is not True:
        taken.append(rest.pop(0))
        whole = compose(job, taken, before, calibration)
    return whole


def measured(store: FactStore, job: Job) -> Calibration | None:
    """The job's own step time, where its logs tell one."""
    runs = {fact.entity for fact in store.every("run.step_time")}
    best = [store.get("run.step_time", run) for run in runs]  # a recording and a log may both tell of a run
    times = {fact.value for fact in best if fact is not None and isinstance(fact.value, int | float)}
    if len(times) != 1:
        return None
    try:
        return calibrate(job, float(times.pop()))
    except (PlanError, ZeroDivisionError):
        return None
