"""What to do next: the step that is expected to tell most between the causes that are still possible."""

from __future__ import annotations

from math import log2

from doctor.engine.candidates import Candidate
from doctor.engine.model import NextStep
from doctor.facts.model import FactSpec
from doctor.rulebase.model import Rule, RuleBase
from doctor.rulebase.truth import Truth

MOST_STEPS = 5


def next_steps(roots: list[Candidate], found: list[Candidate], rulebase: RuleBase) -> tuple[NextStep, ...]:
    """Steps for every root that is not certain: the author's way to tell causes apart, then facts that are missing.

    `gain` is the expected drop of entropy, in bits.
    """
    beliefs = {candidate.rule.id: candidate.belief for candidate in found}
    steps: list[NextStep] = []
    for root in roots:
        if root.belief >= 0.95:
            continue
        for other in root.rule.differential:
            rival = rulebase.rules.get(other.rule)
            if rival is None or not other.next:
                continue
            kind, _, name = other.next.partition(":")
            known = kind in ("probe", "question", "command") and bool(name)
            gain = entropy(_share(root.belief, beliefs.get(rival.id, rival.prior)))
            separates = tuple(dict.fromkeys((root.rule.cause, rival.cause)))
            step = NextStep(kind if known else "command", other.next, separates, gain, (), other.how.en, other.how.zh)
            steps.append(step)
        steps += _missing(root, rulebase)
    unique: dict[str, NextStep] = {}
    for step in sorted(steps, key=lambda s: -s.gain):
        unique.setdefault(step.id, step)
    return tuple(unique.values())[:MOST_STEPS]


def _missing(root: Candidate, rulebase: RuleBase) -> list[NextStep]:
    """A step for each signal of the root that could not be told."""
    steps: list[NextStep] = []
    for outcome in root.outcomes:
        if outcome.truth is not Truth.UNKNOWN or not outcome.missing:
            continue
        gain = signal_gain(root.rule, outcome.signal, root.belief)
        facts = tuple(name for name in outcome.missing if _can_be_asked(rulebase.catalogue.get(name)))
        if gain > 0.01 and facts:
            meaning = rulebase.catalogue[facts[0]].meaning
            steps.append(NextStep("question", f"fact:{facts[0]}", (root.rule.cause,), gain, facts, meaning))
    return steps


def _can_be_asked(spec: FactSpec | None) -> bool:
    """Can a person or a probe supply the fact? What is only computed from other facts cannot be asked for."""
    return spec is not None and not all(provider.startswith("derive") for provider in spec.providers)


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
