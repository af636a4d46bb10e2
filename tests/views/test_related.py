"""What follows from a finding, and what it could be instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from doctor.engine.model import Role
from doctor.views.related import Related
from tests.reports import oom_report


def test_a_rival_is_told_with_its_belief_and_how_to_tell_it_apart(tmp_path: Path) -> None:
    report = oom_report(tmp_path)
    root, *others = report.diagnosis.findings
    belief = next(other.belief for other in others if other.rule.id == "MEM003")
    assert Related(report).rivals(root, "en") == [("MEM003", "a fragmented cache has much unused memory", belief)]


def test_what_follows_from_a_finding_is_no_rival_of_it(tmp_path: Path) -> None:
    report = oom_report(tmp_path)
    root, other = report.diagnosis.findings
    effect = replace(other, role=Role.CONSEQUENCE, explained_by=root.rule.id)
    related = Related(replace(report, diagnosis=replace(report.diagnosis, findings=(root, effect))))
    assert list(related.effects(root)) == [effect]
    assert related.rivals(root, "en") == []
    assert list(related.effects(effect)) == []
