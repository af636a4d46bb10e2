"""What is known of a job, as conditions look at it: facts by entity, events by rank, what can be told of absence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from doctor.engine.survived import TRACEBACK, caught, milestones, reported_ends
from doctor.facts.model import Event, EventSpec, Fact, FactSpec, Source
from doctor.facts.store import FactStore
from doctor.rulebase.expression import reads
from doctor.rulebase.truth import Truth

NOT_OWN = ("log.last_line",)
"""Events that every log has and that therefore say nothing about which line comes first or last."""


LEAVES = ("rank", "gpu", "nic")
"""Kinds of entity that contain no other."""

_FIELDS: Mapping[str, Callable[[Event], Any]] = {
    **{name: attrgetter(name) for name in ("rank", "local_rank", "host", "time", "step", "phase", "run", "order")},
    **{name: attrgetter(f"source.{name}") for name in ("path", "text", "line")},
    "traceback": lambda event: "",
}
"""What every event tells beside its captures; a traceback only where it ends one."""

_PLACE: Mapping[str, Callable[[Event], object]] = {
    "rank": lambda event: event.rank,
    "node": lambda event: event.host,
    "run": lambda event: event.run,
}
"""Where an event belongs, for the kinds of entity that events come from."""


@dataclass(slots=True)
class Span:
    """First and last occurrence of an event, by position in each file and by the clock in each run."""

    orders: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    times: dict[str, tuple[float, float]] = field(default_factory=dict)
    timeless: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Span:
        span = cls()
        for event in events:
            key = (event.run, event.source.path)
            low, high = span.orders.get(key, (event.order, event.order))
            span.orders[key] = (min(low, event.order), max(high, event.order))
            if event.time is None:
                span.timeless.add(event.run)
            else:
                first, last = span.times.get(event.run, (event.time, event.time))
                span.times[event.run] = (min(first, event.time), max(last, event.time))
        return span

    def after(self, event: Event) -> Truth:
        """Does an occurrence lie after `event` in its run?"""
        return self._beyond(event, lambda place, bounds, gap: bounds[1] >= place + gap)

    def before(self, event: Event) -> Truth:
        """Does an occurrence lie before `event` in its run?"""
        return self._beyond(event, lambda place, bounds, gap: bounds[0] <= place - gap)

    def _beyond(self, event: Event, lies: Callable[[float, tuple[float, float], float], bool]) -> Truth:
        """Within a file by position; between files by the clock, where both lines have one; times may be equal."""
        if not self.orders:
            return Truth.FALSE
        own = self.orders.get((event.run, event.source.path))
        if own is not None and lies(event.order, own, 1):
            return Truth.TRUE
        if not any(run == event.run and path != event.source.path for run, path in self.orders):
            return Truth.FALSE
        bounds = self.times.get(event.run)
        if event.time is None or bounds is None:
            return Truth.UNKNOWN
        if lies(event.time, bounds, 0):
            return Truth.TRUE
        return Truth.UNKNOWN if event.run in self.timeless else Truth.FALSE


@dataclass(frozen=True, slots=True)
class Seen:
    """What is there of what a signal asks for; the same for every rule that asks for it. As in Outcome."""

    truth: Truth
    sources: tuple[Source, ...] = ()
    missing: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    entities: tuple[str, ...] = ()


class Situation:
    """A fact store with what the engine asks of it over and over, computed once."""

    def __init__(
        self, store: FactStore, specs: dict[str, EventSpec], catalogue: Mapping[str, FactSpec] = MappingProxyType({})
    ) -> None:
        self.store, self.specs, self.catalogue = store, specs, catalogue
        self.logs_read = bool(store.events()) or store.get("log.files") is not None
        self.follow_ons = tuple(name for name, spec in specs.items() if spec.follows and store.events(name))
        self.seen: dict[tuple[object, ...], Seen] = {}
        """What was looked for already, by what was asked and of which entity."""
        self._alike: dict[str, bool] = {}
        self._by_entity: dict[tuple[str, str], dict[str, list[Event]]] = {}
        self._uncaught: dict[str, list[Event]] = {}
        self._entities: dict[str, list[str]] = {}
        self._spans: dict[tuple[str, str], Span] = {}
        self._inner: dict[str, dict[str, list[str]]] = {}

    @cached_property
    def _ends(self) -> tuple[frozenset[int], frozenset[int]]:
        """The first and the last event of each rank's log, leaving out what merely follows from a failure."""
        firsts: dict[tuple[str, int | None], Event] = {}
        lasts: dict[tuple[str, int | None], Event] = {}
        for event in self.store.events():
            if event.name in NOT_OWN or event.name in self.follow_ons:
                continue
            key = (event.source.path, event.rank)
            if event.order < firsts.setdefault(key, event).order:
                firsts[key] = event
            if event.order >= lasts.setdefault(key, event).order:
                lasts[key] = event
        return frozenset(map(id, firsts.values())), frozenset(map(id, lasts.values()))

    def is_first(self, event: Event) -> bool:
        return id(event) in self._ends[0]

    def is_last(self, event: Event) -> bool:
        return id(event) in self._ends[1]

    def events(self, name: str, entity: str) -> list[Event]:
        """Occurrences of `name` that belong to `entity`."""
        kind = entity.partition(":")[0]
        if kind not in _PLACE:
            return self._standing(name)
        if (name, kind) not in self._by_entity:
            index: dict[str, list[Event]] = {}
            for event in self._standing(name):
                index.setdefault(f"{kind}:{_PLACE[kind](event)}", []).append(event)
            self._by_entity[name, kind] = index
        return self._by_entity[name, kind].get(entity, [])

    def _standing(self, name: str) -> list[Event]:
        """Occurrences of `name`, but for exceptions that were caught."""
        events = self.store.events(name)
        spec = self.specs.get(name)
        if not events or spec is None or not spec.raised:
            return events
        if name not in self._uncaught:
            tracebacks = self.store.events(TRACEBACK)
            over = {id(event) for event in caught(events, self.milestones, self._reported_ends, tracebacks)}
            self._uncaught[name] = [event for event in events if id(event) not in over]
        return self._uncaught[name]

    @cached_property
    def milestones(self) -> dict[str, list[Event]]:
        return milestones(self.store, self.specs)

    @cached_property
    def _reported_ends(self) -> dict[str, int]:
        return reported_ends(self.store, self.specs)

    def entities(self, kind: str) -> list[str]:
        """Entities of `kind` that a fact is about or an event comes from."""
        if kind not in self._entities:
            found = dict.fromkeys(self.store.entities(kind))
            if kind in _PLACE:
                places = dict.fromkeys(_PLACE[kind](event) for event in self.store.events())
                found.update(dict.fromkeys(f"{kind}:{place}" for place in places if place not in (None, "", "job")))
            self._entities[kind] = list(found)
        return self._entities[kind]

    def inner(self, kind: str, entity: str) -> list[str]:
        """The entities of `kind` that are `entity` or inside it."""
        if kind not in self._inner:
            index: dict[str, list[str]] = {}
            for inner in self.entities(kind):
                for outer in self.store.chain(inner):
                    index.setdefault(outer, []).append(inner)
            self._inner[kind] = index
        return self._inner[kind].get(entity, [])

    def entities_of(self, names: Iterable[str], within: str) -> list[str]:
        """The entities, at or below `within`, that any of the facts `names` is known of; `within` if there is none."""
        if within.partition(":")[0] in LEAVES:
            return [within]
        found: dict[str, None] = {}
        for name in names:
            for place in self.store.entities_of(name):
                if within == "job" or within in self.store.chain(place):
                    found[place] = None
        return list(found) or [within]

    def alike(self, text: str) -> bool:
        """Does the expression `text` give the same for every entity, since what it reads is known of the job alone?"""
        if text not in self._alike:
            names = reads(text)
            places = {place for name in names or () for place in self.store.entities_of(name)}
            self._alike[text] = names is not None and places <= {"job"}
        return self._alike[text]

    def lookup(self, entity: str, event: Event | None = None, within: str = "job") -> SituationLookup:
        """Names as seen from `entity`; events are counted over `within`."""
        return SituationLookup(self, entity, event, within)

    def span(self, name: str, entity: str) -> Span:
        """Where and when the occurrences of `name` lie."""
        if (name, entity) not in self._spans:
            self._spans[name, entity] = Span.of(self.events(name, entity))
        return self._spans[name, entity]


class SituationLookup:
    """The names of an expression, seen from one entity and, for `where`, from one event."""

    __slots__ = ("entity", "event", "situation", "within")

    def __init__(self, situation: Situation, entity: str, event: Event | None, within: str) -> None:
        self.situation, self.entity, self.event, self.within = situation, entity, event, within

    def fact(self, name: str) -> Fact | None:
        return self.situation.store.get(name, self.entity)

    def field(self, name: str) -> Any | None:
        event = self.event
        if event is None:
            return None
        if name in event.fields:
            return event.fields[name]
        return _FIELDS[name](event) if name in _FIELDS else None

    def inner(self, kind: str) -> Iterator[SituationLookup]:
        for entity in self.situation.inner(kind, self.entity):
            yield SituationLookup(self.situation, entity, self.event, self.within)

    def event_count(self, name: str) -> int | None:
        found = self.situation.events(name, self.within)
        return len(found) if found or self.situation.logs_read else None

    def event_ranks(self, name: str) -> int | None:
        found = self.situation.events(name, self.within)
        return len({event.rank for event in found}) if found or self.situation.logs_read else None

    def distinct(self, name: str) -> int | None:
        values = {fact.value for fact in self.situation.store.every(name)}
        return len(values) if values else None
