"""What checkpoints cost: how long a save stops training, and which share of the time that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from doctor.facts.derive.progress import number, steady, steps_of
from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore

PROGRESS = ("progress.step", "progress.bar", "progress.rate", "progress.step_time")
SAVES = ("progress.save_started", "progress.save_done", "megatron.timer_range")
NEEDS = (*(f"event:{name}" for name in (*PROGRESS, *SAVES)), "config.save_interval")
GIVES = ("run.save_time", "run.save_share")


def derive(store: FactStore) -> Iterator[Fact]:
    """Seconds of the usual save, and its share of the time from one save to the next where the interval is known."""
    by_run: dict[str, list[Event]] = defaultdict(list)
    if not any(store.events(name) for name in SAVES):
        return
    for name in (*PROGRESS, *SAVES):
        for event in store.events(name):
            by_run[event.run].append(event)
    for run, events in by_run.items():
        events.sort(key=lambda event: (event.source.path, event.order))
        saves = [*_told(events)] or [*_clocked(events)]
        if not saves:
            continue
        entity = "job" if len(by_run) == 1 else f"run:{run}"
        seconds = median(value for value, _ in saves)
        shown = [event for _, event in saves[:2]]
        yield _fact("run.save_time", seconds, entity, shown)
        steps = steps_of([event for event in events if event.name in PROGRESS])
        interval = _interval(store, [event for _, event in saves], events)
        if steps and interval is not None:
            between = interval * median(step.seconds for step in steady(steps))
            yield _fact("run.save_share", seconds / (seconds + between), entity, shown)


def _told(events: Sequence[Event]) -> Iterator[tuple[float, Event]]:
    """Saves whose duration is printed."""
    for event in events:
        if event.name == "progress.save_done" or event.fields.get("timer") == "save-checkpoint":
            if (seconds := number(event, "seconds")) is not None:
                yield seconds, event
            elif (minutes := number(event, "minutes")) is not None:
                yield minutes * 60, event
            elif (most := number(event, "max_ms")) is not None:
                yield most / 1000, event


def _clocked(events: Sequence[Event]) -> Iterator[tuple[float, Event]]:
    """Saves whose beginning and end have a time stamp."""
    marks = [event for event in events if event.name in ("progress.save_started", "progress.save_done")]
    for begin, end in pairwise(marks):
        pair = begin.name == "progress.save_started" and end.name == "progress.save_done"
        if not pair or begin.source.path != end.source.path or begin.time is None or end.time is None:
            continue
        if end.time > begin.time:
            yield end.time - begin.time, begin


def _interval(store: FactStore, saves: Sequence[Event], events: Sequence[Event]) -> float | None:
    """Steps between two saves: as configured, else as the steps of the saves, or of the lines before them, tell."""
    fact = store.get("config.save_interval")
    if fact is not None and isinstance(fact.value, int) and fact.value > 0:
        return float(fact.value)
    numbers: list[float] = []
    last: float | None = None
    known = {id(event) for event in saves}
    for event in events:
        last = number(event, "step") or last
        if id(event) in known and last is not None:
            numbers.append(last)
    gaps = [b - a for a, b in pairwise(numbers) if b > a]
    return median(gaps) if gaps else None


def _fact(name: str, value: Value, entity: str, events: Sequence[Event]) -> Fact:
    because = tuple(dict.fromkeys(event.source for event in events))
    return Fact(name, value, entity, Source("derived"), None, Quality.DERIVED, because)
