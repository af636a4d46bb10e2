"""What is kept of an attempt that is over: its findings in a few words, not all that was read of it."""

from __future__ import annotations

from dataclasses import replace

from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore
from doctor.session.report import Report


def remembered(report: Report) -> Report:
    """`report` with its root causes, without their proof, and with one event of each rank: a job may be restarted a
    hundred times."""
    diagnosis = report.diagnosis
    roots = tuple(replace(root, outcomes=(), follows=()) for root in diagnosis.roots)
    slim = replace(
        diagnosis, findings=roots, ruled_out=(), next_steps=(), unexplained=diagnosis.unexplained[:1], questions=(),
        suspects=(),
    )  # fmt: skip
    events: dict[int | None, Event] = {}
    for event in report.store.events():
        events.setdefault(event.rank, event)
    facts: dict[str, Fact] = {}
    for fact in report.store.facts():
        if fact.entity.startswith("rank:"):
            facts.setdefault(fact.entity, fact)
    return replace(report, diagnosis=slim, store=FactStore(facts.values(), events.values()))
