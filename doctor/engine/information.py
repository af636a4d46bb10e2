"""The value of a question: how much of the doubt between causes its answer is expected to remove.

Causes that compete for the same symptoms form a group of hypotheses, to which "something else" belongs at even odds.
An answer a speaks for a cause H by the ratio that its facts give the signals of the rule; so P(a|H) is the share of
the answer times that ratio, normalised over the answers, and P(a|something else) is the share alone. The gain is the
mutual information of answer and hypothesis (Cover and Thomas, Elements of Information Theory, chapter 2), which is
never negative: an answer may raise the doubt, but the expected doubt never rises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log2

from doctor.engine.candidates import Candidate, added, holds
from doctor.engine.model import Outcome, RuledOut
from doctor.engine.situation import Situation, SituationLookup
from doctor.facts.model import Fact, Quality
from doctor.rulebase.expression import evaluate, fact_names
from doctor.rulebase.model import Answer, Question, Rule, Severity, Signal
from doctor.rulebase.truth import Truth, disjunction

SOMETHING_ELSE = 1.0
"""Odds of a cause that no rule of the group describes."""

MOST_HYPOTHESES = 60
"""Hypotheses of a group that are followed; the others are too improbable to matter."""

CONTRADICTED = 0.01
"""What remains of a cause whose condition an answer makes false: people err."""

SPREAD = 0.1
"""A cause is named as separated by a question when the answers change its share by this part of it at least."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A rule that may hold, with its odds and how its signals came out."""

    rule: Rule
    odds: float
    condition: Truth
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Worth:
    """What a question is expected to tell, in bits, and the causes it tells apart, the most affected first."""

    gain: float
    separates: tuple[str, ...]


def rivals_of(root: Candidate, found: Sequence[Candidate], ruled_out: Sequence[RuledOut]) -> list[Hypothesis]:
    """The group of a root: itself, its live rivals, and what its author says looks alike."""
    named = {*root.rivals, *(other.rule for other in root.rule.differential)}
    live = [c for c in found if c is root or c.rule.id in named]
    group = [Hypothesis(c.rule, exp(c.odds), c.condition, c.outcomes) for c in live]
    return group + [_ruled_out(out) for out in ruled_out if out.rule.id in named]


def suspects(found: Sequence[Candidate], ruled_out: Sequence[RuledOut]) -> list[Hypothesis]:
    """The group when nothing is found: all that could go wrong and that nothing speaks against, most probable first."""
    group = [Hypothesis(c.rule, exp(c.odds), c.condition, c.outcomes) for c in found]
    group += [_ruled_out(out) for out in ruled_out if not _excluded(out)]
    group = [h for h in group if h.rule.severity in (Severity.FATAL, Severity.DEGRADED)]
    return sorted(group, key=lambda h: -h.odds)[:MOST_HYPOTHESES]


def _ruled_out(out: RuledOut) -> Hypothesis:
    return Hypothesis(out.rule, out.belief / max(1 - out.belief, 1e-9), out.condition, out.outcomes)


def _excluded(out: RuledOut) -> bool:
    """Does something that was seen rule the cause out, rather than a message that is merely not in the logs?"""
    truths = {outcome.signal: outcome.truth for outcome in out.outcomes}
    if any(truths.get(name) is Truth.TRUE for name in out.rule.condition.none):
        return True
    facts = (name for name in out.rule.condition.all if not out.rule.signals[name].events)
    return any(truths.get(name) is Truth.FALSE for name in facts)


def shares(group: Sequence[Hypothesis]) -> list[float]:
    """The probability of each hypothesis; what is missing to 1 is something else."""
    total = SOMETHING_ELSE + sum(h.odds for h in group)
    return [h.odds / total for h in group]


def can_ask(question: Question, situation: Situation, asked: frozenset[str]) -> bool:
    """Was it not asked yet, is nothing of it known, and does it make sense here?"""
    if question.id in asked or any(situation.store.get(name) is not None for name in question.gives):
        return False
    return not question.asks_when or evaluate(question.asks_when, situation.lookup("job")).value is not False


def worth(question: Question, groups: Iterable[Sequence[Hypothesis]], situation: Situation) -> Worth:
    """The expected gain of a question over independent groups of rivals."""
    gain, moved = 0.0, dict[str, float]()
    for group in groups:
        told = [_told(h, question, situation) for h in group]
        if not any(told):
            continue
        share = [answer.share for answer in question.answers]
        base = [part / sum(share) for part in share]
        likelihoods = [_likelihood(base, ratios) if ratios else base for ratios in told]
        prior = shares(group)
        gain += information([*prior, 1 - sum(prior)], [*likelihoods, base])
        for hypothesis, mine, probability in zip(group, likelihoods, prior, strict=True):
            spread = max(abs(a - b) / b for a, b in zip(mine, base, strict=True)) * probability
            if spread > SPREAD * probability:
                moved[hypothesis.rule.cause] = max(spread, moved.get(hypothesis.rule.cause, 0.0))
    return Worth(gain, tuple(sorted(moved, key=lambda cause: -moved[cause])))


def _likelihood(base: Sequence[float], ratios: Sequence[float]) -> list[float]:
    joint = [part * ratio for part, ratio in zip(base, ratios, strict=True)]
    return [part / sum(joint) for part in joint]


def information(prior: Sequence[float], likelihoods: Sequence[Sequence[float]]) -> float:
    """Mutual information, in bits, of a hypothesis with `prior` and an answer with `likelihoods` given each."""
    total = 0.0
    for index in range(len(likelihoods[0])):
        answer = sum(p * row[index] for p, row in zip(prior, likelihoods, strict=True))
        for p, row in zip(prior, likelihoods, strict=True):
            if p > 0 and row[index] > 0:
                total += p * row[index] * log2(row[index] / answer)
    return max(total, 0.0)


def _told(hypothesis: Hypothesis, question: Question, situation: Situation) -> list[float]:
    """For each answer the factor by which it changes the odds; empty when no signal uses a fact of the question."""
    rule, gives = hypothesis.rule, question.gives
    affected = [s for s in rule.signals.values() if s.when and not gives.isdisjoint(fact_names(s.when))]
    if not affected:
        return []
    truths = {outcome.signal: outcome.truth for outcome in hypothesis.outcomes}
    before = added(rule, {outcome.signal: outcome.weight for outcome in hypothesis.outcomes})
    return [_factor(hypothesis, answer, affected, truths, before, situation) for answer in question.answers]


def _factor(
    hypothesis: Hypothesis,
    answer: Answer,
    affected: Sequence[Signal],
    truths: Mapping[str, Truth],
    before: float,
    situation: Situation,
) -> float:
    given = {name: Fact(name, value, quality=Quality.ANSWERED) for name, value in answer.gives.items()}
    weights = {outcome.signal: outcome.weight for outcome in hypothesis.outcomes}
    after = dict(truths)
    for signal in affected:
        truth = _supposed(signal, situation, given)
        after[signal.name] = truth
        weights[signal.name] = signal.weight(truth)
    factor = exp(added(hypothesis.rule, weights) - before)
    condition = hypothesis.rule.condition
    falsified = hypothesis.condition is not Truth.FALSE and holds(condition, after) is Truth.FALSE
    return factor * CONTRADICTED if falsified else factor


def _supposed(signal: Signal, situation: Situation, given: Mapping[str, Fact]) -> Truth:
    """The truth of a signal over facts if `given` were known."""
    places = situation.entities_of(fact_names(signal.when), "job")
    return disjunction(Truth.of(evaluate(signal.when, Supposed(situation, place, given)).value) for place in places)


class Supposed(SituationLookup):
    """What is known, and facts of the job that are supposed."""

    def __init__(self, situation: Situation, entity: str, given: Mapping[str, Fact]) -> None:
        super().__init__(situation, entity, None, "job")
        self.given = given

    def fact(self, name: str) -> Fact | None:
        return self.given.get(name) or super().fact(name)
