"""What the remedies of a diagnosis ask for, and which of them count where a person has not chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doctor.engine.model import Diagnosis, Finding
from doctor.facts.store import FactStore
from doctor.rulebase.model import Remedy, Severity, Text
from doctor.session.report import Patches

if TYPE_CHECKING:  # the planner is loaded for reports that hold something of it
    from doctor.session.plan import Planned


@dataclass(frozen=True, slots=True)
class Asked:
    """What a remedy asks for. settings: neutral ones with their values, None for those that are not known; flags: by
    framework, those that may be the job's; planned: its settings that the planner knows are part of the plan; why: the
    planner's reason against it."""

    name: str
    title: Text
    settings: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str | None] = field(default_factory=dict)
    planned: bool = False
    why: Text | None = None


def cures(diagnosis: Diagnosis) -> Iterator[tuple[str, Remedy, Finding]]:
    """Every remedy of every root that can be taken, as (`RULE:remedy`, remedy, root)."""
    for root in diagnosis.roots:
        for remedy in root.rule.remedies:
            if not remedy.avoid:
                yield f"{root.rule.id}:{remedy.id}", remedy, root


def suggested(diagnosis: Diagnosis, planned: Planned | None) -> tuple[str, ...]:
    """The remedies that count until a person chooses: for every root that alarms those of the planner's plan, else its
    first."""
    plan = set(planned.plan.taken) if planned and planned.plan else set[str]()
    found: dict[str, list[str]] = {}
    for name, _, root in cures(diagnosis):
        if root.severity in (Severity.FATAL, Severity.DEGRADED):
            found.setdefault(root.rule.id, []).append(name)
    return tuple(name for names in found.values() for name in ([name for name in names if name in plan] or names[:1]))


def asked(
    names: Sequence[str], diagnosis: Diagnosis, store: FactStore, patches: Patches, planned: Planned | None
) -> tuple[Asked, ...]:
    """What the remedies `names` ask for, in the order of the roots."""
    wanted = set(names)
    return tuple(
        _asked(name, remedy, store, patches.get((root.rule.id, remedy.id), {}), planned)
        for name, remedy, root in cures(diagnosis)
        if name in wanted
    )


def flags_of(remedy: Remedy, store: FactStore) -> dict[str, str]:
    """The flags of a remedy by framework, as text; where the job's framework is among them, its own alone."""
    flags = {str(name): lines(text) for name, text in (remedy.change.get("flags") or {}).items()}
    framework = store.get("config.framework")
    if framework is not None and framework.value in flags:
        return {str(framework.value): flags[str(framework.value)]}
    return flags


def lines(text: Any) -> str:
    """A text of a rule that may be given as a list of lines."""
    return "\n".join(map(str, text)) if isinstance(text, list | tuple) else str(text).strip("\n")


def _asked(name: str, remedy: Remedy, store: FactStore, patch: Mapping[str, Any], planned: Planned | None) -> Asked:
    env = {str(key): None if value is None else str(value) for key, value in (remedy.change.get("env") or {}).items()}
    settings = {key: patched.then for key, patched in patch.items()}
    plan = planned.plan if planned else None
    rejected = next((each for each in plan.rejected if each.name == name), None) if plan else None
    rule, _, key = name.partition(":")
    why = planned.refused.get((rule, key)) if planned else None
    if rejected is not None:
        knob = rejected.knob
        why = rejected.why or Text(f"{knob} is already set otherwise", f"{knob} 已被设为其他值")
    return Asked(name, remedy.title, settings, flags_of(remedy, store), env, bool(plan and name in plan.taken), why)
