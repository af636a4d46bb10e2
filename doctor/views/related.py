"""How the findings of a diagnosis stand to one another: looked up once, then asked for each of thousands."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.engine.model import Finding
from doctor.session.report import Report


class Related:
    """The findings of `report` by the rule that they follow from, and what is believed of each."""

    def __init__(self, report: Report) -> None:
        self._rules = report.rulebase.rules
        self._beliefs: dict[str, float] = {}
        self._effects: dict[str, list[Finding]] = {}
        for finding in report.diagnosis.findings:
            self._beliefs[finding.rule.id] = finding.belief
            if finding.explained_by is not None:
                self._effects.setdefault(finding.explained_by, []).append(finding)

    def effects(self, finding: Finding) -> Sequence[Finding]:
        """The findings that follow from it."""
        return self._effects.get(finding.rule.id, ())

    def rivals(self, finding: Finding, lang: str) -> list[tuple[str, str, float | None]]:
        """What it could also be, as (rule id, how to tell it apart, belief if it is a candidate); live candidates
        first."""
        told = {other.rule: other.how.get(lang) for other in finding.rule.differential}
        folded = {effect.rule.id for effect in self.effects(finding)}
        ids = [rule for rule in dict.fromkeys((*finding.rivals, *told)) if rule not in folded]
        return [(rule, told.get(rule, ""), self._beliefs.get(rule)) for rule in ids if rule in self._rules]
