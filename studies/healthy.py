"""A thousand benign warnings in healthy logs: does anything alarm?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from doctor.rulebase.model import RuleBase
from doctor.session.report import Report
from studies.cases import ALARMING, Answer, source_of
from studies.robustness import diagnosed, subject
from studies.table import table
from tests.robustness import benign, healthy
from tests.robustness.edits import Files

WARNINGS, SEEDS = 1000, 10

MENDED = (
    "At the first run every generated log raised an alarm, by that same warning of libibverbs, and those of Lightning "
    "a second one, since the log of one rank was taken for a job of which only one rank had come."
)


def alarms(report: Report) -> list[str]:
    return [f.rule.cause for f in report.diagnosis.findings if f.severity in ALARMING]


def generated(name: str, seed: int, base: RuleBase) -> Report:
    text = healthy.log(healthy.FORMS[name], random.Random(f"{name}/{seed}"), warnings=WARNINGS)
    return diagnosed(Files({"job.log": text}), base)


def flooded(answer: Answer, seed: int) -> Files:
    """The files of a healthy case with a thousand warnings in each log."""
    files, rng = subject(answer), random.Random(f"{answer.case.number}/{seed}")

    def noisy(body: str) -> str:
        return "\n".join(healthy.mixed(body.splitlines(), benign.lines(rng, WARNINGS), rng)) + "\n"

    return replace(files, text={n: noisy(body) if n in files.logs else body for n, body in files.text.items()})


def section(given: Sequence[Answer], base: RuleBase) -> str:
    rows, wrong = [], 0
    for name in healthy.FORMS:
        found = [alarms(generated(name, seed, base)) for seed in range(SEEDS)]
        rows.append(_row(name, found))
        wrong += sum(map(bool, found))
    for answer in given:
        if answer.case.healthy:
            found = [alarms(diagnosed(flooded(answer, seed), base)) for seed in range(SEEDS)]
            rows.append(_row(source_of(answer.case), found))
            wrong += sum(map(bool, found))
    return "\n".join(
        [
            f"Healthy logs as {len(healthy.FORMS)} frameworks print them, and the healthy cases, each with {WARNINGS} "
            f"warnings drawn from {len(benign.TEMPLATES) + len(benign.HINTS)} benign ones, {SEEDS} times: **{wrong} of "
            f"{len(rows) * SEEDS}** logs raise an alarm (a finding that is fatal or degraded).",
            "",
            MENDED,
            "",
            table(("log", "copies", "with an alarm", "alarms"), rows),
        ]
    )


def _row(name: str, found: Sequence[Sequence[str]]) -> tuple[object, ...]:
    named = Counter(cause for causes in found for cause in causes)
    return name, len(found), sum(map(bool, found)), ", ".join(f"{c} x{n}" for c, n in sorted(named.items())) or "none"
