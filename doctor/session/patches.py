"""What the settings that a remedy changes are now, and what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.engine.model import Diagnosis
from doctor.engine.situation import Situation
from doctor.facts.model import Value
from doctor.facts.store import FactStore
from doctor.rulebase.expression import evaluate
from doctor.rulebase.model import RuleBase
from doctor.session.report import Patched


def patched(diagnosis: Diagnosis, store: FactStore, rulebase: RuleBase) -> dict[tuple[str, str], Mapping[str, Patched]]:
    """The settings that remedies change, computed from what the job's are now."""
    lookup = Situation(store, dict(rulebase.events)).lookup("job")

    def now(key: str) -> Value | None:
        fact = store.get(f"config.{key}")
        return fact.value if fact else None

    def then(wanted: Any) -> Value | None:
        value = evaluate(wanted, lookup).value if isinstance(wanted, str) else wanted
        return value if isinstance(value, str | int | float) else None

    return {
        (finding.rule.id, remedy.id): {key: Patched(now(key), then(wanted)) for key, wanted in change.items()}
        for finding in diagnosis.findings
        for remedy in finding.rule.remedies
        if (change := remedy.change.get("patch"))
    }
