"""What follows from what: the symptoms a cause explains beyond its own, and which findings fold under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from doctor.engine.candidates import Candidate, is_symptom
from doctor.engine.model import Follow
from doctor.engine.situation import Situation
from doctor.facts.model import Event
from doctor.rulebase.model import Explains


@dataclass(slots=True)
class Consequences:
    """The events that follow from a candidate, by name, and the rules whose findings do."""

    events: dict[str, list[Event]] = field(default_factory=dict)
    rules: tuple[str, ...] = ()

    @property
    def identities(self) -> frozenset[int]:
        return frozenset(id(event) for events in self.events.values() for event in events)


def consequences(candidate: Candidate, situation: Situation, others: Iterable[Candidate] = ()) -> Consequences:
    """What `candidate` explains: the events its rule names and every line that always follows a failure, and of the
    `others` those that its rule names, where they are in the places that it asks for."""
    named_rules = {e.rule: e.same for e in candidate.rule.explains if e.rule}
    apart = {
        other.rule.id
        for other in others
        if (same := named_rules.get(other.rule.id, "job")) != "job" and not _together(candidate, other, same, situation)
    }
    found = Consequences(rules=tuple(rule for rule in named_rules if rule not in apart))
    own = {id(event) for event in candidate.events}
    named = [(consequence.event, consequence) for consequence in candidate.rule.explains if consequence.event]
    if candidate.symptoms:
        follow_ons = [name for name, spec in situation.specs.items() if spec.follows]
        named += [(name, Explains(event=name)) for name in follow_ons if name not in {n for n, _ in named}]
    for name, consequence in named:
        events = [
            e for e in situation.store.events(name) if id(e) not in own and _can_follow(e, candidate, consequence)
        ]
        if events:
            found.events[name] = events
    return found


def _together(cause: Candidate, other: Candidate, same: str, situation: Situation) -> bool:
    """Is every place of `other` one of the cause's? A cause of which no rank is known is where its node is; what has
    no known place is nowhere."""
    own = {place for entity in _places(cause) for place in situation.store.chain(entity)}
    kinds = ("rank:",) if same == "rank" and any(place.startswith("rank:") for place in own) else ("rank:", "node:")
    own = {place for place in own if place.startswith(kinds)}
    theirs = [set(situation.store.chain(entity)) for entity in _places(other)]
    return bool(theirs) and all(own & places for places in theirs)


def _places(candidate: Candidate) -> set[str]:
    """Where a candidate is: its entities and those of its events."""
    found = {entity for entity in candidate.entities if not entity.startswith(("job", "run:"))}
    for event in candidate.events:
        if event.rank is not None:
            found.add(f"rank:{event.rank}")
        elif event.host:
            found.add(f"node:{event.host}")
    return found


def _can_follow(event: Event, candidate: Candidate, consequence: Explains) -> bool:
    """Not before its cause in the same file, and on the same rank or node where the rule asks for that."""
    causes = candidate.events
    if not causes:
        return True
    if consequence.same == "rank" and event.rank not in {cause.rank for cause in causes}:
        return False
    if consequence.same == "node" and event.host not in {cause.host for cause in causes}:
        return False
    same_log = [c.order for c in causes if c.source.path == event.source.path and c.rank == event.rank]
    return not same_log or event.order >= min(same_log)


def follows(candidate: Candidate, found: Consequences, situation: Situation) -> tuple[Follow, ...]:
    """The consequences as they are told: how many, on which ranks, how long after the cause."""
    own_symptoms = [event for event in candidate.events if is_symptom(event, situation)] or list(candidate.events)
    start = min((event.time for event in own_symptoms if event.time is not None), default=None)
    told: list[Follow] = []
    for name, events in found.events.items():
        first = min(events, key=lambda e: (e.time is None, e.time or 0.0, e.order))
        lag = first.time - start if first.time is not None and start is not None else None
        ranks = tuple(sorted({event.rank for event in events if event.rank is not None}))
        told.append(Follow(name, len(events), ranks, first.source, lag))
    return tuple(sorted(told, key=lambda f: (f.lag is None, f.lag or 0.0)))
