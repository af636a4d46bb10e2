"""Runs the tests inside rule files: through the same probes and the same engine as a user's files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from doctor.engine.model import Diagnosis, Finding, Label
from doctor.rulebase.model import RuleBase
from doctor.rulebase.testing import RuleTest


def run_rule_test(test: RuleTest, base: RuleBase) -> list[str]:
    """What went otherwise than `test` expects; empty when it passes."""
    from doctor.session.analyze import analyze_paths

    with TemporaryDirectory(prefix="pdoctor-") as folder:
        for name, text in test.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        paths = [folder] if test.files else []
        report = analyze_paths(paths, rulebase=base, facts=test.facts)
    return list(complaints(test, report.diagnosis))


def complaints(test: RuleTest, diagnosis: Diagnosis) -> Iterator[str]:
    """Every way in which `diagnosis` is not what `test` expects."""
    expect = test.expect
    roots = {finding.rule.id: finding for finding in diagnosis.roots}
    told = ", ".join(f"{f.rule.id} {f.belief:.2f}" for f in diagnosis.roots) or "none"
    if expect.finding == "none" and test.rule in roots:
        yield f"{test.rule} must not be a root; roots: {told}"
    if expect.finding not in ("", "none"):
        if (finding := roots.get(expect.finding)) is None:
            yield f"{expect.finding} must be a root; roots: {told}"
        else:
            yield from _about(finding, test)
    if expect.cause and expect.cause not in {finding.rule.cause for finding in diagnosis.roots}:
        yield f"cause {expect.cause} must be a root; roots: {told}"
    if expect.roots is not None and sorted(expect.roots) != sorted(roots):
        yield f"roots must be {', '.join(expect.roots) or 'none'}; they are {told}"


def _about(finding: Finding, test: RuleTest) -> Iterator[str]:
    expect = test.expect
    if expect.label and finding.label.order > Label(expect.label).order:
        yield f"{finding.rule.id} must be at least {expect.label}; it is {finding.label} ({finding.belief:.2f})"
    if missing := [place for place in expect.where if place not in finding.entities]:
        yield f"{finding.rule.id} must name {', '.join(missing)}; it names {', '.join(finding.entities) or 'nothing'}"
    if expect.remedy and expect.remedy not in {remedy.id for remedy in finding.rule.remedies}:
        yield f"{finding.rule.id} must offer {expect.remedy}"
