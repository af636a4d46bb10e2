"""The report as JSON, schema 1 (report.schema.json beside this file). Changes to it only ever add."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import doctor
from doctor.engine.model import Finding, Follow
from doctor.facts.model import Event, Fact, Source
from doctor.rulebase.model import Remedy
from doctor.session.gpu_memory import memory_by_gpu
from doctor.session.report import Report
from doctor.session.stack_tree import stacks_of
from doctor.views import coverage, present
from doctor.views.gpu_memory import gpu_memory_data
from doctor.views.plan_report import effect_data, plan_data
from doctor.views.related import Related
from doctor.views.safe import json_safe
from doctor.views.stack_tree import stacks_data

SCHEMA = 1


def render(report: Report, lang: str, facts: bool = False) -> str:
    """The report as a JSON document; with `facts`, everything that is known of the job is in it."""
    return json_safe(json.dumps(as_data(report, lang, facts), ensure_ascii=False, indent=1)) + "\n"


def as_data(report: Report, lang: str, facts: bool = False) -> dict[str, Any]:
    diagnosis, related = report.diagnosis, Related(report)
    return {
        "schema": SCHEMA,
        "tool": {"name": "pdoctor", "version": doctor.__version__},
        "inputs": _inputs(report, lang),
        "verdict": str(diagnosis.verdict),
        "summary": present.summary(report, lang),
        "checked": coverage.checked(report, lang),
        "findings": [finding_data(finding, report, lang, related) for finding in diagnosis.findings],
        "plan": plan_data(report, lang),
        "next_steps": [
            {
                "kind": step.kind,
                "id": step.id,
                "text": present.step_text(step, report, lang),
                "separates": list(step.separates),
                "choices": [{"key": key, "text": text} for key, text in present.choices(step, report, lang)],
            }
            for step in present.next_steps(report)
        ],
        "not_checked": [{"what": what, "why": why} for what, why in coverage.not_checked(report, lang)],
        "unexplained": [evidence_data(event.source, event, lang) for event in present.unexplained(report)],
        "warnings": present.warnings(report, lang),
        "gpu_memory": gpu_memory_data(memory_by_gpu(report.store)),
        "stacks": stacks_data(stacks_of(report.store)),
        "facts": _facts(report.store.facts()) if facts else {},
    }


def _inputs(report: Report, lang: str) -> list[dict[str, Any]]:
    return [
        {
            "path": given.path,
            "kind": given.kind,
            "bytes": given.bytes,
            "rank": given.rank,
            "host": given.host,
            "warnings": [present.note_text(note, lang) for note in given.notes],
        }
        for given in report.inputs
    ]


def finding_data(finding: Finding, report: Report, lang: str, related: Related | None = None) -> dict[str, Any]:
    """One finding of `report`, as `$defs/finding` of the schema has it; `related` is made where it is not given."""
    rule, related = finding.rule, related or Related(report)
    sources = finding.sources
    paths = {source.path for source in sources}  # thousands of ranks may show it, the logs of a few are quoted
    every = ((s, e) for o in finding.outcomes for e in o.events for s in (e.source, *e.context))
    events = {source: event for source, event in every if source.path in paths}
    return {
        "rule": rule.id,
        "cause": rule.cause,
        "title": rule.title.get(lang),
        "severity": str(finding.severity),
        "role": str(finding.role),
        "confidence": round(finding.belief, 4),
        "label": str(finding.label),
        "entities": list(finding.entities) or ["job"],
        "explained_by": finding.explained_by,
        "because": rule.because.get(lang),
        "evidence": [evidence_data(source, events.get(source), lang) for source in sources],
        "notes": [note for outcome in finding.outcomes if (note := outcome.note.get(lang))],
        "follows": [_follow(follow, report, lang) for follow in finding.follows],
        "differential": [_rival(*rival, report, finding) for rival in related.rivals(finding, lang)],
        "remedies": [_remedy(finding, remedy, report, lang) for remedy in rule.remedies],
        "references": [{"title": reference.title, "url": reference.url} for reference in rule.references],
    }


def evidence_data(source: Source, event: Event | None, lang: str) -> dict[str, Any]:
    """One line of proof as it stands there, or what a reader put into words; rank, host and time are null where the
    line does not tell."""
    return {
        "path": source.path,
        "line": source.line,
        "text": present.quoted(source, lang),
        "kind": source.kind,
        "rank": event.rank if event else None,
        "host": event.host if event else None,
        "time": moment(event.time) if event else None,
        "own_frame": present.own_frame(event) or None,
    }


def moment(seconds: float | None) -> str | None:
    """A time in seconds since the epoch as ISO 8601 in UTC; None where there is none or it is beyond any calendar."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None


def _follow(follow: Follow, report: Report, lang: str) -> dict[str, Any]:
    return {
        "event": follow.event,
        "text": present.event_meaning(report, follow.event, lang),
        "count": follow.count,
        "ranks": list(follow.ranks),
        "lag_s": follow.lag,
        "first": evidence_data(follow.first, None, lang),
    }


def _rival(rule: str, how: str, belief: float | None, report: Report, finding: Finding) -> dict[str, Any]:
    steps = {other.rule: other.next for other in finding.rule.differential}
    cause = report.rulebase.rules[rule].cause
    return {"rule": rule, "cause": cause, "how": how, "next": steps.get(rule) or None, "confidence": belief}


def _remedy(finding: Finding, remedy: Remedy, report: Report, lang: str) -> dict[str, Any]:
    return {
        "id": remedy.id,
        "title": remedy.title.get(lang),
        "risk": remedy.risk,
        "restart": remedy.restart,
        "avoid": remedy.avoid,
        "why": remedy.why.get(lang) if remedy.why else None,
        "changes": [{"framework": f, "text": text} for f, text in present.changes(finding.rule, remedy, report)],
        "effect": effect_data(report, finding.rule.id, remedy.id, lang),
    }


def _facts(facts: Iterable[Fact]) -> dict[str, list[dict[str, Any]]]:
    """Facts by name; the same fact may be known of several entities and from several sources."""
    known: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        source = {
            "kind": fact.source.kind,
            "path": fact.source.path,
            "line": fact.source.line,
            "text": fact.source.text,
        }
        entry = {"entity": fact.entity, "value": fact.value, "quality": str(fact.quality), "source": source}
        known.setdefault(fact.name, []).append(entry)
    return dict(sorted(known.items()))
