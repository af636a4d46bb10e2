"""Progress events as the log probe makes them, for the tests of what is derived from them."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore


def line(name: str, order: int = 0, path: str = "job.log", run: str = "job", text: str = "", **fields: Value) -> Event:
    """One occurrence of the event `name`; its line number follows its order."""
    return Event(name, Source("log", path, order + 1, text), fields, run=run, order=order)


def values(found: object) -> Mapping[str, Value]:
    """The derived facts by name."""
    assert isinstance(found, list)
    return {fact.name: fact.value for fact in found}


def store_of(*events: Event, **facts: Value) -> FactStore:
    """A store of events, and of facts whose names are written with `__` for the dot."""
    known = [Fact(name.replace("__", "."), value) for name, value in facts.items()]
    return FactStore(known, events)
