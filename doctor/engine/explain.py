"""What follows from what: the symptoms a cause explains beyond its own, and which findings fold under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from doctor.engine.candidates import Candidate, is_symptom
from doctor.engine.model import Follow
from doctor.engine.situation import Situation
from doctor.facts.model import Event
from doctor.rulebase.model import Explains

LAST_ERROR_AFTER = 3
"""Lines from the first one of an exception of NCCL to what stands below its "Last error:"."""


@dataclass(frozen=True, slots=True)
class Consequences:
    """The events that follow from a candidate, by name, and the rules whose findings do."""

    events: dict[str, list[Event]]
    rules: tuple[str, ...]
    identities: frozenset[int]
    """Of the events."""


def consequences(candidate: Candidate, situation: Situation, others: Iterable[Candidate] = ()) -> Consequences:
    """What `candidate` explains: the events its rule names and every line that always follows a failure, and of the
    `others` those that its rule names, where they are in the places that it asks for."""
    named_rules = {e.rule: e.same for e in candidate.rule.explains if e.rule}
    apart = {
        other.rule.id
        for other in others
        if (same := named_rules.get(other.rule.id, "job")) != "job" and not _together(candidate, other, same, situation)
    }
    named = [(consequence.event, consequence) for consequence in candidate.rule.explains if consequence.event]
    if candidate.symptoms:
        names = {name for name, _ in named}
        named += [(name, Explains(event=name)) for name in situation.follow_ons if name not in names]
    found: dict[str, list[Event]] = {}
    causes: Causes | None = None
    for name, consequence in named:
        if not (events := situation.store.events(name)):
            continue
        causes = causes or Causes.of(candidate.events)
        if following := [event for event in events if causes.may_lead_to(event, consequence)]:
            found[name] = following
    rules = tuple(rule for rule in named_rules if rule not in apart)
    return Consequences(found, rules, frozenset(id(event) for events in found.values() for event in events))


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


@dataclass(frozen=True, slots=True)
class Causes:
    """Where the events are that others may follow from; `begun` is the first of each rank in each file."""

    own: frozenset[int]
    ranks: frozenset[int | None]
    hosts: frozenset[str | None]
    begun: Mapping[tuple[str, int | None], Event]

    @classmethod
    def of(cls, events: Sequence[Event]) -> Causes:
        begun: dict[tuple[str, int | None], Event] = {}
        for event in events:
            place = (event.source.path, event.rank)
            begun[place] = min(event, begun.get(place, event), key=lambda one: one.order)
        return cls(
            frozenset(map(id, events)),
            frozenset(event.rank for event in events),
            frozenset(event.host for event in events),
            begun,
        )

    def may_lead_to(self, event: Event, consequence: Explains) -> bool:
        """Not before its cause in the same file, and on the same rank or node where the rule asks for that. The head of
        an exception of NCCL comes before the line that tells the cause."""
        if not self.own:
            return True
        if id(event) in self.own:
            return False
        if consequence.same == "rank" and event.rank not in self.ranks:
            return False
        if consequence.same == "node" and event.host not in self.hosts:
            return False
        begun = self.begun.get((event.source.path, event.rank))
        if begun is None or event.order >= begun.order:
            return True
        return _is_head(event) and event.source.line >= begun.source.line - LAST_ERROR_AFTER


def _is_head(event: Event) -> bool:
    return event.name == "nccl.error" or "NCCL error in: " in event.source.text


def follows(candidate: Candidate, found: Consequences, situation: Situation) -> tuple[Follow, ...]:
    """The consequences as they are told: how many, on which ranks, how long after the cause."""
    own = candidate.events
    own_symptoms = [event for event in own if is_symptom(event.name, situation)] or own
    start = min((event.time for event in own_symptoms if event.time is not None), default=None)
    told: list[Follow] = []
    for name, events in found.events.items():
        first = min(events, key=lambda e: (e.time is None, e.time or 0.0, e.order))
        lag = first.time - start if first.time is not None and start is not None else None
        ranks = tuple(sorted({event.rank for event in events if event.rank is not None}))
        told.append(Follow(name, len(events), ranks, first.source, lag))
    return tuple(sorted(told, key=lambda f: (f.lag is None, f.lag or 0.0)))
