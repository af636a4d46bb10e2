"""How a run came to values that are no numbers: out of the blue or after a rise, and whether it goes on with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import median

from doctor.facts.derive.oom import number
from doctor.facts.derive.oom_site import entity_of
from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = (
    *("event:numerics.nan_gradient", "event:numerics.nan", "event:progress.step"),
    *("event:progress.training_started", "event:progress.resumed"),
)
GIVES = ("run.nan_gradients_at_end", "run.nan_onset")

START_STEPS = 3
"""A first value that is no number within so many steps was not trained into being."""
RISEN_LOSS = 1.3
RISEN_NORM = 3.0
"""A loss of so many times the least one, or a norm of so many times the usual one, was on its way to infinity."""
ENOUGH = 20
"""Finite values after which a loss alone, or one that is printed every so often, shows a training that went well."""
FAR_APART = 10
"""Steps from one line to the next between which a training may diverge unseen."""


def derive(store: FactStore) -> Iterable[Fact]:
    gradients = _by_run(store, "numerics.nan_gradient")
    steps = _by_run(store, "progress.step")
    for entity, events in gradients.items():
        yield _at_end(entity, events, steps.get(entity, []))
    begun = _by_run(store, "progress.training_started").keys() - _by_run(store, "progress.resumed").keys()
    for entity, events in _by_run(store, "numerics.nan_gradient", "numerics.nan").items():
        yield from _onset(entity, min(events, key=lambda event: event.order), steps.get(entity, []), entity in begun)


def _by_run(store: FactStore, *names: str) -> dict[str, list[Event]]:
    by_run: dict[str, list[Event]] = {}
    for name in names:
        for event in store.events(name):
            by_run.setdefault(entity_of(event), []).append(event)
    return by_run


def _at_end(entity: str, events: list[Event], steps: list[Event]) -> Fact:
    """How many of the last steps in a row printed NaN or infinity: a loss scaler's search passes, this does not."""
    lines = {_line(event) for event in events}
    good = [step.order for step in steps if _line(step) not in lines]
    last = [event for event in events if event.order > max(good, default=-1)]
    because = tuple(event.source for event in (last or events)[-2:])
    return Fact("run.nan_gradients_at_end", len(last), entity, Source("derived"), None, Quality.DERIVED, because)


def _onset(entity: str, first: Event, steps: list[Event], begun: bool) -> Iterator[Fact]:
    """What loss and gradients did before; the loss of the very step was computed before its gradients."""
    before = sorted((s for s in steps if s.order < first.order or _line(s) == _line(first)), key=lambda s: s.order)
    losses = [value for step in before if math.isfinite(value := _value(step, "loss"))]
    norms = [value for step in before if math.isfinite(value := _value(step, "grad_norm"))]
    numbered = [step for step in steps if _line(step) == _line(first) and "step" in step.fields]
    if any(_value(step, "step") <= START_STEPS for step in numbered) or (
        begun and before and all(_line(step) == _line(first) for step in before)
    ):
        kind = "start"
    elif len(losses) < 2:
        return
    elif losses[-1] > RISEN_LOSS * min(losses) or (len(norms) >= 2 and norms[-1] > RISEN_NORM * median(norms[:-1])):
        kind = "after_rise"
    elif len(losses) < ENOUGH and (not norms or _apart(before) > FAR_APART):
        return
    else:
        kind = "sudden"
    because = (*(step.source for step in before[-1:]), first.source)
    yield Fact("run.nan_onset", kind, entity, Source("derived"), None, Quality.DERIVED, because)


def _apart(events: list[Event]) -> float:
    """Steps between two lines, as far as the lines tell."""
    numbers = sorted({step for event in events if math.isfinite(step := _value(event, "step"))})
    return (numbers[-1] - numbers[0]) / (len(numbers) - 1) if len(numbers) > 1 else 0.0


def _line(event: Event) -> tuple[str, int | None]:
    return event.source.path, event.source.line


def _value(event: Event, name: str) -> float:
    value = number(event, name)
    return math.nan if value is None else float(value)
