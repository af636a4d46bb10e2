"""What to do next: the step that is expected to tell most, for its cost, between the causes still possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

from doctor.engine.candidates import Candidate
from doctor.engine.information import Hypothesis, can_ask, rivals_of, suspects, worth
from doctor.engine.model import NextStep, RuledOut
from doctor.engine.roots import SURE
from doctor.engine.situation import Situation
from doctor.facts.model import FactSpec
from doctor.rulebase.model import Rule, RuleBase, Severity
from doctor.rulebase.truth import Truth

MOST_STEPS = 5
WORTH_ASKING = 0.02
"""Bits below which a question is not worth a person's time."""

MOST_SEPARATED = 3
"""Causes that are named beside a question."""

COSTS: Mapping[str, float] = {"probe": 60.0, "command": 180.0, "question": 60.0}
"""Seconds that a step without a cost of its own takes a person; to look up a fact counts as a question."""


def groups_of(
    roots: Sequence[Candidate], found: Sequence[Candidate], ruled_out: Sequence[RuledOut], undetermined: bool
) -> list[list[Hypothesis]]:
    """The hypotheses to decide between: the rivals of each doubtful root that alarms; without a root, all suspects."""
    if undetermined:
        return [suspects(found, ruled_out)]
    alarming = (Severity.FATAL, Severity.DEGRADED)
    doubtful = [root for root in roots if root.belief < SURE and root.rule.severity in alarming]
    return [rivals_of(root, found, ruled_out) for root in doubtful]


def questions(
    groups: Sequence[Sequence[Hypothesis]], rulebase: RuleBase, situation: Situation, asked: frozenset[str]
) -> tuple[NextStep, ...]:
    """The questions worth asking, the one that tells most for its cost first."""
    steps: list[NextStep] = []
    for question in rulebase.questions.values() if groups else ():
        if not can_ask(question, situation, asked):
            continue
        found = worth(question, groups, situation)
        if found.gain >= WORTH_ASKING:
            separates = found.separates[:MOST_SEPARATED]
            step = NextStep(
                kind="question",
                id=f"question:{question.id}",
                separates=separates,
                gain=found.gain,
                how=question.text.en,
                how_zh=question.text.zh,
                cost=question.cost,
                asks=question.id,
            )
            steps.append(step)
    return tuple(sorted(steps, key=_order))


def next_steps(
    roots: list[Candidate], found: list[Candidate], rulebase: RuleBase, asking: Sequence[NextStep] = ()
) -> tuple[NextStep, ...]:
    """Steps for every root that is not certain: the author's way to tell causes apart, facts that are missing, and
    the questions in `asking`.

    `gain` is the expected drop of entropy, in bits; the order is that of gain over cost.
    """
    beliefs = {candidate.rule.id: candidate.belief for candidate in found}
    steps: list[NextStep] = list(asking)
    for root in roots:
        if root.belief >= SURE:
            continue
        for other in root.rule.differential:
            rival = rulebase.rules.get(other.rule)
            if rival is None or not other.next:
                continue
            kind, _, name = other.next.partition(":")
            if kind == "question" and name in rulebase.questions:
                continue
            if kind not in COSTS or not name:
                kind = "command"
            gain = entropy(_share(root.belief, beliefs.get(rival.id, rival.prior)))
            separates = tuple(dict.fromkeys((root.rule.cause, rival.cause)))
            steps.append(NextStep(kind, other.next, separates, gain, (), other.how.en, other.how.zh, COSTS[kind]))
        steps += _missing(root, rulebase)
    unique: dict[str, NextStep] = {}
    for step in sorted(steps, key=_order):
        unique.setdefault(step.id, step)
    return tuple(unique.values())[:MOST_STEPS]


def _order(step: NextStep) -> float:
    return -step.gain / step.cost


def _missing(root: Candidate, rulebase: RuleBase) -> list[NextStep]:
    """A step for each signal of the root that could not be told, unless a question asks for it."""
    asked = {name for question in rulebase.questions.values() for name in question.gives}
    steps: list[NextStep] = []
    for outcome in root.outcomes:
        if outcome.truth is not Truth.UNKNOWN or not outcome.missing:
            continue
        gain = signal_gain(root.rule, outcome.signal, root.belief)
        facts = tuple(name for name in outcome.missing if _can_be_found_out(rulebase.catalogue.get(name)))
        if gain > 0.01 and facts and facts[0] not in asked:
            meaning = rulebase.catalogue[facts[0]].meaning
            cost = COSTS["question"]
            steps.append(NextStep("question", f"fact:{facts[0]}", (root.rule.cause,), gain, facts, meaning, "", cost))
    return steps


def _can_be_found_out(spec: FactSpec | None) -> bool:
    """Can a person look the fact up, or a probe supply it? Not what is computed, nor what a question gives."""
    return spec is not None and not all(p.startswith("derive") or p == "question" for p in spec.providers)


def signal_gain(rule: Rule, name: str, belief: float) -> float:
    """Expected drop of entropy, in bits, from learning whether the signal holds."""
    signal = rule.signals[name]
    seen = belief * signal.if_cause + (1 - belief) * signal.otherwise
    if not 0 < seen < 1:
        return 0.0
    after_yes = belief * signal.if_cause / seen
    after_no = belief * (1 - signal.if_cause) / (1 - seen)
    return entropy(belief) - seen * entropy(after_yes) - (1 - seen) * entropy(after_no)


def entropy(probability: float) -> float:
    """Of a yes-or-no matter, in bits."""
    if not 0 < probability < 1:
        return 0.0
    return -probability * log2(probability) - (1 - probability) * log2(1 - probability)


def _share(mine: float, other: float) -> float:
    return mine / (mine + other) if mine + other else 0.5
