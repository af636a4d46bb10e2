"""Cases with known answers, and what pdoctor says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from doctor.engine.model import Finding
from doctor.rulebase.model import RuleBase, Severity
from doctor.session.analyze import analyze_paths
from doctor.session.report import Report

ALARMING = (Severity.FATAL, Severity.DEGRADED)


@dataclass(frozen=True, slots=True)
class Case:
    """One case: its number in the sorted folder, where it was published, what is right and what must not be said."""

    number: int
    folder: Path
    source: str
    cause: str
    accepted: frozenset[str]
    wrong: frozenset[str]
    fix: str
    lines: tuple[str, ...]
    reason: str

    @property
    def healthy(self) -> bool:
        return self.cause == "healthy"


@dataclass(frozen=True, slots=True)
class Answer:
    """What pdoctor says of a case."""

    case: Case
    report: Report

    @property
    def first(self) -> Finding | None:
        return next(iter(self.report.diagnosis.roots), None)

    @property
    def named(self) -> str:
        return self.first.rule.cause if self.first else ""

    @property
    def belief(self) -> float:
        return self.first.belief if self.first else 0.0

    @property
    def right(self) -> bool:
        return self.named in self.case.accepted

    @property
    def alarms(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.report.diagnosis.findings if f.severity in ALARMING)


def read_cases(folder: Path) -> list[Case]:
    """Every folder at or below `folder` that holds case.yaml and input, in sorted order."""
    yaml = YAML(typ="safe")
    files = sorted(path for path in folder.rglob("case.yaml") if (path.parent / "input").is_dir())
    return [_case(number, path.parent, yaml.load(path.read_text("utf-8"))) for number, path in enumerate(files, 1)]


def _case(number: int, folder: Path, data: dict[str, Any]) -> Case:
    cause = str(data["root_cause_id"])
    return Case(
        number,
        folder,
        str(data.get("source_url") or ""),
        cause,
        frozenset({cause, *(data.get("acceptable_ids") or ())}),
        frozenset(data.get("must_not") or ()),
        " ".join(str(data.get("fix") or "").split()),
        tuple(map(str, data.get("evidence_lines") or ())),
        " ".join(str(data.get("root_cause") or "").split()),
    )


def answers(cases: Sequence[Case], base: RuleBase) -> list[Answer]:
    return [Answer(case, analyze_paths([case.folder / "input"], rulebase=base)) for case in cases]


def source_of(case: Case) -> str:
    """The case by its number and, where it has one, the thread it was taken from."""
    place = case.source.removeprefix("https://").removeprefix("github.com/")
    if " " in case.source:
        return f"{case.number} {place}"
    return f"{case.number} [{place}]({case.source})" if case.source.startswith("http") else f"{case.number}"
