"""A diagnosis that a person walks through: what was read, what they answered, which remedies they chose.

A session is a value: every act gives a new one, so that going back loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from doctor.engine.model import Finding
from doctor.rulebase.model import Remedy, Severity
from doctor.session.analyze import Material, judge
from doctor.session.answers import Answers, add_answers
from doctor.session.report import Report

if TYPE_CHECKING:
    from doctor.session.plan import Planned


@dataclass(frozen=True, slots=True)
class Session:
    """`chosen` are remedies as `RULE:remedy`, None while the person leaves the choice to pdoctor; `past` the sessions
    before each answer, latest last; `planned` the plan of the chosen remedies."""

    material: Material
    answers: Answers
    report: Report
    chosen: tuple[str, ...] | None = None
    planned: Planned | None = None
    past: tuple[Session, ...] = ()

    @property
    def taken(self) -> tuple[str, ...]:
        """The remedies that count: the chosen ones, else those of pdoctor's own plan, else the first of each root."""
        if self.chosen is not None:
            return self.chosen
        plan = self.report.planned.plan if self.report.planned else None
        if plan is not None:
            return plan.taken
        firsts: dict[str, str] = {}
        for name, _, root in remedies(self.report):
            if root.severity in (Severity.FATAL, Severity.DEGRADED):
                firsts.setdefault(root.rule.id, name)
        return tuple(firsts.values())


def begin(material: Material, answers: Answers) -> Session:
    """Judges what was read and what is known already."""
    report = judge(material, answers)
    return Session(material, answers, report, None, report.planned)


def answered(session: Session, question: str, key: str) -> Session:
    """The session after one answer; raises InputError where the question or the key is not known."""
    told = add_answers(session.answers, [f"{question}={key}"], session.report.rulebase.questions)
    return _anew(session, session.material, told)


def undone(session: Session) -> Session:
    """The session before the last answer; the same where there was none."""
    return session.past[-1] if session.past else session


def with_material(session: Session, material: Material) -> Session:
    """The session when more was read; answers and choices stay."""
    return _anew(session, material, session.answers)


def chosen(session: Session, names: Iterable[str]) -> Session:
    """The session with these remedies, in the order of the roots; those that the report does not hold are left out."""
    wanted = set(names)
    kept = tuple(name for name, _, _ in remedies(session.report) if name in wanted)
    return replace(session, chosen=kept, planned=_planned(session.report, session.material, kept))


def remedies(report: Report) -> Iterator[tuple[str, Remedy, Finding]]:
    """Every remedy of every root that can be taken, as (`RULE:remedy`, remedy, root)."""
    for root in report.diagnosis.roots:
        for remedy in root.rule.remedies:
            if not remedy.avoid:
                yield f"{root.rule.id}:{remedy.id}", remedy, root


def _anew(session: Session, material: Material, told: Answers) -> Session:
    report = judge(material, told)
    after = Session(material, told, report, None, report.planned, (*session.past, session))
    return after if session.chosen is None else chosen(after, session.chosen)


def _planned(report: Report, material: Material, names: tuple[str, ...]) -> Planned | None:
    if report.planned is None or report.planned.before is None:
        return report.planned
    from doctor.session.plan import planned_with

    return planned_with(report.planned, names, report.store, report.patched, dict(material.configs))
