"""What is shown as proof of a finding, in which order."""

from __future__ import annotations

from doctor.engine.model import Finding, Outcome
from doctor.rulebase.truth import Truth


def proofs(finding: Finding) -> list[Outcome]:
    """The signals that hold and have a place to show, but those that must not hold: first one that quotes the failure
    itself, which a person looks for before anything that tells its cause; then the strongest."""
    none = finding.rule.condition.none
    shown = [o for o in finding.outcomes if o.truth is Truth.TRUE and o.sources and o.signal not in none]
    shown.sort(key=lambda outcome: -outcome.weight)
    failure = next((outcome for outcome in shown if _failure(outcome)), None)
    return shown if failure is None else [failure, *(outcome for outcome in shown if outcome is not failure)]


def _failure(outcome: Outcome) -> bool:
    return any(event.fields.get("symptom") == "fatal" for event in outcome.events)
