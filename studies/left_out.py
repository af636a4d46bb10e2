"""Whatever is a number that could have been chosen on the cases: chosen on all but one, judged on that one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import exp
from typing import Any, TypeAlias

from doctor.engine import candidates
from doctor.engine.diagnose import diagnose
from doctor.engine.model import Diagnosis
from doctor.rulebase.model import RuleBase
from studies import recalibration
from studies.cases import ALARMING, Answer
from studies.reliability import Point, brier, points
from studies.table import percent, table


@dataclass(frozen=True, slots=True)
class Knob:
    """A number of the reasoning, its shipped value, and the values it is tried at."""

    name: str
    meaning: str
    shipped: float
    values: tuple[float, ...]


KNOBS = (
    Knob("WORTH_TELLING", "least belief of a candidate where a failure shows", 0.1, (0.02, 0.05, 0.1, 0.2, 0.3)),
    Knob("WORTH_WARNING", "the same where nothing failed", 0.3, (0.1, 0.2, 0.3, 0.4, 0.5)),
    Knob("weights", "factor on what every signal adds", 1.0, (0.5, 0.7, 0.85, 1.0, 1.2, 1.5)),
    Knob("priors", "factor on the odds of every prior", 1.0, (0.25, 0.5, 1.0, 2.0, 4.0)),
)

Row: TypeAlias = tuple[object, ...]

CUTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
SHIPPED_CUT = 0.5
WRONG_COSTS = 2.0
"""A wrong cause asserted costs twice what a right one gains: it sends somebody the wrong way."""


@dataclass(frozen=True, slots=True)
class Result:
    """One case at one setting: right or not, its squared error, and an alarm if it is healthy."""

    right: bool
    error: float
    healthy: bool

    @property
    def merit(self) -> float:
        """What a setting is chosen by: hits first, the Brier score between equals."""
        return float(self.right) - self.error * (not self.healthy)


@contextmanager
def threshold(name: str, value: float) -> Iterator[None]:
    """A module constant of the engine at another value, for a study."""
    before = getattr(candidates, name)
    setattr(candidates, name, value)
    try:
        yield
    finally:
        setattr(candidates, name, before)


def tempered(base: RuleBase, factor: float) -> RuleBase:
    """The rules with the log-odds of every signal, present or absent, at `factor` times what they are."""

    def softer(signal: Any) -> Any:
        ends = recalibration.logit(signal.if_cause), recalibration.logit(signal.otherwise)
        middle = sum(ends) / 2
        if_cause, otherwise = (1 / (1 + exp(-(middle + factor * (end - middle)))) for end in ends)
        return replace(signal, if_cause=if_cause, otherwise=otherwise)

    rules = {
        id: replace(rule, signals={name: softer(signal) for name, signal in rule.signals.items()})
        for id, rule in base.rules.items()
    }
    return replace(base, rules=rules)


def more_likely(base: RuleBase, factor: float) -> RuleBase:
    def prior(p: float) -> float:
        odds = factor * p / (1 - p)
        return odds / (1 + odds)

    return replace(base, rules={id: replace(rule, prior=prior(rule.prior)) for id, rule in base.rules.items()})


def again(given: Sequence[Answer], base: RuleBase, knob: Knob, value: float) -> list[Result]:
    """Every case diagnosed anew from the facts that were read, with one number changed."""
    if knob.name in ("weights", "priors"):
        changed = tempered(base, value) if knob.name == "weights" else more_likely(base, value)
        return _results(given, changed)
    with threshold(knob.name, value):
        return _results(given, base)


def _results(given: Sequence[Answer], base: RuleBase) -> list[Result]:
    return [_result(answer, diagnose(answer.report.store, base)) for answer in given]


def _result(answer: Answer, diagnosis: Diagnosis) -> Result:
    if answer.case.healthy:
        calm = not any(finding.severity in ALARMING for finding in diagnosis.findings)
        return Result(calm, 0.0, True)
    first = next(iter(diagnosis.roots), None)
    right = first is not None and first.rule.cause in answer.case.accepted
    return Result(right, ((first.belief if first else 0.0) - right) ** 2, False)


def chosen(results: dict[float, list[Result]], shipped: float, left_out: int) -> float:
    """The best value on all cases but one; the one nearest to the shipped value where several are as good."""

    def merit(value: float) -> tuple[float, float]:
        total = sum(result.merit for index, result in enumerate(results[value]) if index != left_out)
        return round(total, 6), -abs(value - shipped)

    return max(results, key=merit)


def knob_rows(given: Sequence[Answer], base: RuleBase, knob: Knob) -> tuple[list[Row], Row]:
    """The result at each value, and that of choosing the value without the case it is judged on."""
    results = {value: again(given, base, knob, value) for value in knob.values}
    each = [
        (knob.name, f"{value:g}{' (shipped)' if value == knob.shipped else ''}", *_figures(results[value]))
        for value in knob.values
    ]
    picks = [chosen(results, knob.shipped, index) for index in range(len(given))]
    judged = [results[value][index] for index, value in enumerate(picks)]
    said = ", ".join(f"{value:g} x{picks.count(value)}" for value in sorted(set(picks)))
    return each, (knob.name, said, *_figures(judged))


def _figures(results: Sequence[Result]) -> Row:
    sick = [result for result in results if not result.healthy]
    calm = [result for result in results if result.healthy]
    return (
        f"{sum(r.right for r in sick)}/{len(sick)}",
        f"{sum(r.right for r in calm)}/{len(calm)}",
        f"{sum(r.error for r in sick) / max(len(sick), 1):.3f}",
    )


def recalibrated(given: Sequence[Point]) -> list[Row]:
    """Brier as shipped, and after maps fitted on all others but the case in question."""
    rows: list[Row] = [("as shipped (no map)", f"{brier(given):.3f}", "-")]
    for name, fit in (("Platt, on the log-odds", recalibration.platt), ("isotonic", recalibration.isotonic)):
        seen = fit(given)
        left = [(fit([*given[:i], *given[i + 1 :]])(belief), right) for i, (belief, right) in enumerate(given)]
        rows.append((name, f"{brier(left):.3f}", f"{brier([(seen(b), right) for b, right in given]):.3f}"))
    return rows


def cut_rows(given: Sequence[Point]) -> tuple[list[Row], str]:
    """What asserting only first roots above a cut gains, and the cut chosen without the case it is judged on."""

    def gain(point: Point, cut: float) -> float:
        belief, right = point
        return 0.0 if belief < cut else 1.0 if right else -WRONG_COSTS

    rows: list[Row] = [
        (
            f"{cut:.1f}{' (shipped)' if cut == SHIPPED_CUT else ''}",
            sum(b >= cut for b, _ in given),
            sum(b >= cut and right for b, right in given),
            sum(b >= cut and not right for b, right in given),
            f"{sum(gain(p, cut) for p in given):.0f}",
        )
        for cut in CUTS
    ]
    picks = []
    for index in range(len(given)):
        others = [*given[:index], *given[index + 1 :]]
        picks.append(max(CUTS, key=lambda cut: (sum(gain(p, cut) for p in others), -abs(cut - SHIPPED_CUT))))
    judged = sum(gain(point, cut) for point, cut in zip(given, picks, strict=True))
    said = ", ".join(f"{cut:.1f} x{picks.count(cut)}" for cut in sorted(set(picks)))
    return rows, f"Chosen without the case it is judged on: {said}; gain {judged:.0f} of {len(given)}."


def section(given: Sequence[Answer], base: RuleBase) -> str:
    found = points(given)
    each: list[Row] = []
    left: list[Row] = []
    for knob in KNOBS:
        rows, one = knob_rows(given, base, knob)
        each += rows
        left.append(one)
    cuts, said = cut_rows(found)
    head = ("first root right", "healthy calm", "Brier")
    right = sum(point[1] for point in found)
    return "\n".join(
        [
            "pdoctor fits nothing: a signal's weight and a rule's prior are words that a person chose, and a word "
            "stands for one number. So there are four numbers that all rules share, and a map of the confidence that "
            "could be added. Each is chosen on all cases but one and judged on that one.",
            "",
            table(("number", "chosen on the others", *head), left),
            "",
            "The same at every value tried:",
            "",
            table(("number", "value", *head), each),
            "",
            "; ".join(f"{knob.name}: {knob.meaning}" for knob in KNOBS) + ".",
            "",
            "A map of the confidence:",
            "",
            table(
                ("map", "Brier, each case left out of its fit", "Brier on its own fit"),
                recalibrated(found),
            ),
            "",
            f"The belief from which a cause is asserted (a wrong one costs {WRONG_COSTS:.0f}):",
            "",
            table(("cut", "asserted", "right", "wrong", "gain"), cuts),
            "",
            said,
            "",
            "**What cannot be left out.** Which signals a rule has, in which words their weights are given, which "
            "patterns an event knows: people wrote these, and they had seen these cases or their scores, so the hit "
            f"rate of {percent(right, len(found))} is that of a text-book on its own exercises. No resampling takes "
            "that back. The same holds for the gains above from greater weights and priors: they say that the "
            "confidence is lower than the hit rate on cases that the rules were mended on, which is as it should be. "
            "The next section has the figures on further reports.",
        ]
    )
