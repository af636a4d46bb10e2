"""From rules to candidates: which rules hold, how much each is believed, and which were ruled out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, log

from doctor.engine.model import Outcome, RuledOut
from doctor.engine.observe import look, observe
from doctor.engine.situation import Situation
from doctor.facts.model import Event, Scope, Symptom
from doctor.rulebase.model import Condition, Rule, Signal
from doctor.rulebase.truth import Truth, conjunction, disjunction, negation

WORTH_TELLING = 0.1
"""Belief below which a rule is not a candidate where a failure shows."""

WORTH_WARNING = 0.3
"""The same where nothing has failed: a healthy job is not told of what is improbable."""


@dataclass(slots=True)
class Candidate:
    """A rule that may hold; `odds` is the belief in it as log-odds, `symptoms` are the failures its signals matched."""

    rule: Rule
    odds: float
    condition: Truth
    outcomes: tuple[Outcome, ...]
    entities: tuple[str, ...]
    symptoms: frozenset[int] = frozenset()
    belief: float = 0.0
    rivals: list[str] = field(default_factory=list)

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for outcome in self.outcomes for event in outcome.events)


def candidates(rules: Iterable[Rule], situation: Situation) -> tuple[list[Candidate], list[RuledOut]]:
    """Every rule with a signal that speaks for it and a condition that is not false; and the others that came close."""
    found: list[Candidate] = []
    out: list[RuledOut] = []
    for rule in rules:
        seen = [weigh(rule, situation, entity) for entity in _entities(rule, situation)]
        live = [candidate for candidate in seen if _alive(candidate)]
        if live:
            found.append(_merged(live))
        else:
            closest = max(seen, key=lambda candidate: candidate.odds)
            out.append(RuledOut(rule, closest.condition, closest.outcomes, probability(closest.odds)))
    return found, out


def weigh(rule: Rule, situation: Situation, entity: str = "job") -> Candidate:
    """The belief in `rule` for `entity`: prior log-odds plus what its signals add, one a group."""
    outcomes = tuple(observe(signal, situation, entity) for signal in rule.signals.values())
    odds = log(rule.prior / (1 - rule.prior)) + added(rule, {o.signal: o.weight for o in outcomes})
    condition = holds(rule.condition, {outcome.signal: outcome.truth for outcome in outcomes})
    shown = [o for o in outcomes if o.truth is Truth.TRUE and o.signal not in rule.condition.none]
    entities = (entity,) if entity != "job" else _places(rule, shown)
    symptoms = frozenset(id(event) for o in shown for event in _symptoms(rule.signals[o.signal], o, situation))
    return Candidate(rule, odds, condition, outcomes, entities, symptoms, probability(odds))


def added(rule: Rule, weights: Mapping[str, float]) -> float:
    """What signals of these weights add to the log-odds of `rule`, one a group."""
    groups: dict[str, list[float]] = defaultdict(list)
    for name, weight in weights.items():
        groups[rule.signals[name].group or name].append(weight)
    return sum(_strongest(together) for together in groups.values())


def _strongest(weights: list[float]) -> float:
    """What a group adds: its strongest sign that is there, else its strongest absence."""
    return max((w for w in weights if w > 0), default=min(weights))


def _places(rule: Rule, shown: list[Outcome]) -> tuple[str, ...]:
    """Where the cause is: the places of its signals, but not of messages that follow from it elsewhere."""
    consequences = {consequence.event for consequence in rule.explains}
    own = [o for o in shown if not (o.events and all(event.name in consequences for event in o.events))]
    places = dict.fromkeys(place for outcome in own for place in outcome.entities)
    return tuple(places or dict.fromkeys(place for outcome in shown for place in outcome.entities))


def _symptoms(signal: Signal, outcome: Outcome, situation: Situation) -> list[Event]:
    """The failures among what a signal matched."""
    telling = {name for name in signal.events if is_symptom(name, situation)}
    return [event for event in outcome.events if event.name in telling] if telling else []


def is_symptom(name: str, situation: Situation) -> bool:
    """Does a line of this event alone show that something failed or is slow?"""
    spec = situation.specs.get(name)
    if spec is None:
        return name == "python.traceback"
    return spec.symptom is not Symptom.NONE


def holds(condition: Condition, truths: Mapping[str, Truth]) -> Truth:
    """The truth of a rule's condition, given that of its signals."""
    parts = [truths[name] for name in condition.all]
    if condition.any:
        parts.append(disjunction(truths[name] for name in condition.any))
    # What would rule the cause out must be shown; that it was not looked at does not speak against the cause.
    parts += [negation(truths[name]) for name in condition.none if truths[name] is not Truth.UNKNOWN]
    return conjunction(parts)


def probability(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def _entities(rule: Rule, situation: Situation) -> list[str]:
    """The entities a rule is tried on; a job of unnamed ranks or nodes is tried as a whole.

    Of many entities those for which nothing speaks are left out early, but one stays to tell why.
    """
    if rule.scope is Scope.JOB:
        return ["job"]
    known = situation.entities(rule.scope) or ["job"]
    if len(known) == 1:
        return known
    return [entity for entity in known if _possible(rule, situation, entity)] or known[:1]


def _possible(rule: Rule, situation: Situation, entity: str) -> bool:
    """Does no signal of `all` fail, and does one that the condition asks for hold?"""
    shown = False
    for name in rule.condition.all:
        truth = look(rule.signals[name], situation, entity).truth
        if truth is Truth.FALSE:
            return False
        shown |= truth is Truth.TRUE
    return shown or any(look(rule.signals[n], situation, entity).truth is Truth.TRUE for n in _wanted(rule))


def _wanted(rule: Rule) -> list[str]:
    """The signals one of which must hold: those of `all` and `any`, else all but those that rule the cause out."""
    condition = rule.condition
    return [*condition.all, *condition.any] or [name for name in rule.signals if name not in condition.none]


def _alive(candidate: Candidate) -> bool:
    """Does something that the condition asks for speak for the rule, and enough to tell of it?"""
    least = WORTH_TELLING if candidate.symptoms else WORTH_WARNING
    if candidate.condition is Truth.FALSE or candidate.belief < least:
        return False
    wanted = _wanted(candidate.rule)
    return any(o.truth is Truth.TRUE and o.signal in wanted for o in candidate.outcomes)


def _merged(live: list[Candidate]) -> Candidate:
    """One candidate for all entities on which the rule came out alike, told by the strongest."""
    best = max(live, key=lambda candidate: candidate.odds)
    if len(live) > 1:
        best.entities = tuple(dict.fromkeys(place for candidate in live for place in candidate.entities))
        best.symptoms = frozenset().union(*(candidate.symptoms for candidate in live))
    return best
