"""The fact store: every fact and event with its source, looked up by name and entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import isfinite

from doctor.facts.model import Event, Fact, Quality

RANKING = (Quality.ANSWERED, Quality.MEASURED, Quality.STATED, Quality.DERIVED)
"""Of several statements the one that counts; what failed is no statement."""


class FactStore:
    """Facts and events of one diagnosis.

    Several sources may state the same fact of the same entity; `get` returns the best known one (answers before
    measurements before statements), `every` returns all of them, so that contradictions can be seen.
    """

    def __init__(self, facts: Iterable[Fact] = (), events: Iterable[Event] = ()) -> None:
        self._facts: dict[str, dict[str, list[Fact]]] = defaultdict(dict)
        self._best: dict[str, dict[str, Fact]] = defaultdict(dict)
        self._events: dict[str, list[Event]] = defaultdict(list)
        self._node_of_rank: dict[str, str] = {}
        for fact in facts:
            self.add(fact)
        for event in events:
            self.add_event(event)

    def add(self, fact: Fact) -> None:
        """Keep `fact` beside what is known of the same name and entity; a number without end is no measurement."""
        if isinstance(fact.value, float) and not isfinite(fact.value):
            return
        self._facts[fact.name].setdefault(fact.entity, []).append(fact)
        if fact.quality is not Quality.FAILED:
            best = self._best[fact.name].setdefault(fact.entity, fact)
            if RANKING.index(fact.quality) < RANKING.index(best.quality):
                self._best[fact.name][fact.entity] = fact
        if fact.name == "rank.host":
            self._node_of_rank[fact.entity] = f"node:{fact.value}"

    def add_event(self, event: Event) -> None:
        self._events[event.name].append(event)

    def get(self, name: str, entity: str = "job") -> Fact | None:
        """The best fact `name` of `entity`, or of the entities that contain it: a rank's node, a run's job."""
        if best := self._best.get(name):
            for place in self.chain(entity):
                if (fact := best.get(place)) is not None:
                    return fact
        return None

    def every(self, name: str) -> Iterator[Fact]:
        """All facts called `name`, of all entities, in the order they were added."""
        for facts in self._facts.get(name, {}).values():
            yield from facts

    def entities_of(self, name: str) -> Iterable[str]:
        """The entities that a fact called `name` is about, in the order they were added."""
        return self._facts.get(name, {})

    def failed(self) -> Iterator[Fact]:
        """What was looked for and could not be read; the value says why."""
        for fact in self.facts():
            if fact.quality is Quality.FAILED:
                yield fact

    def facts(self) -> Iterator[Fact]:
        for by_entity in self._facts.values():
            for facts in by_entity.values():
                yield from facts

    def names(self) -> set[str]:
        return {name for name, by_entity in self._facts.items() if by_entity}

    def events(self, name: str | None = None) -> list[Event]:
        """Occurrences of the event `name`, or of all events, in the order they were read."""
        if name is not None:
            return self._events.get(name, [])
        return [event for events in self._events.values() for event in events]

    def event_names(self) -> set[str]:
        return {name for name, events in self._events.items() if events}

    def entities(self, kind: str) -> list[str]:
        """Entities of `kind` that any fact is about."""
        prefix = kind + ":"
        found = {e for by in self._facts.values() for e in by if e == kind or e.startswith(prefix)}
        return sorted(found)

    def chain(self, entity: str) -> tuple[str, ...]:
        """`entity`, then what contains it, ending with the job."""
        if entity == "job":
            return ("job",)
        kind, _, name = entity.partition(":")
        if kind == "rank" and (node := self._node_of_rank.get(entity)):
            return entity, node, "job"
        if kind in ("gpu", "nic") and "/" in name:
            return entity, "node:" + name.rsplit("/", 1)[0], "job"
        return entity, "job"
