"""Failures that the job got over: an exception that the program caught is no reason why it ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from doctor.facts.model import Event, EventSpec, Symptom
from doctor.facts.store import FactStore

GOES_ON = 3
"""Steps, or lines of other milestones, that a rank tells after a failure which it has survived."""


def milestones(store: FactStore, specs: Mapping[str, EventSpec]) -> dict[str, list[Event]]:
    """Lines that tell how far the job is, by log, the last one first."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in store.events():
        if (spec := specs.get(event.name)) is not None and spec.phase:
            found[event.source.path].append(event)
    for events in found.values():
        events.sort(key=lambda event: -event.order)
    return found


def went_on(event: Event, told: Sequence[Event], enough: int) -> bool:
    """Does a rank tell `enough` milestones after `event`? Of `told`, those that name another rank do not count."""
    steps: set[tuple[object, int]] = set()
    for later in takewhile(lambda one: one.order > event.order, told):
        if None not in (later.rank, event.rank) and later.rank != event.rank:
            continue
        step = later.fields.get("step", later.step)
        steps.add((step, later.order if step is None else 0))
        if len(steps) >= enough:
            return True
    return False


def caught(events: Iterable[Event], told: Mapping[str, Sequence[Event]], ends: Mapping[str, int]) -> list[Event]:
    """Of messages of exceptions, those after which the job made steps and nothing tells that a process ended.

    `ends` is the place of the last report of an end, by log.
    """
    return [
        event
        for event in events
        if ends.get(event.source.path, -1) < event.order and went_on(event, told.get(event.source.path, ()), GOES_ON)
    ]


def reported_ends(store: FactStore, specs: Mapping[str, EventSpec]) -> dict[str, int]:
    """The place of the last line, by log, that reports the failure of a process."""
    found: dict[str, int] = {}
    for name, spec in specs.items():
        if spec.follows and spec.symptom is Symptom.FATAL:
            for event in store.events(name):
                found[event.source.path] = max(event.order, found.get(event.source.path, -1))
    return found
