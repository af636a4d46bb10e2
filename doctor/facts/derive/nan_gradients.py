"""Whether a run goes on with gradients that are no numbers: a loss scaler's search passes, this does not."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.facts.derive.oom_site import entity_of
from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("event:numerics.nan_gradient", "event:progress.step")
GIVES = ("run.nan_gradients_at_end",)


def derive(store: FactStore) -> Iterable[Fact]:
    """For each run how many of its last steps in a row printed NaN or infinity as the norm of the gradients."""
    by_run: dict[str, list[Event]] = {}
    for event in store.events("numerics.nan_gradient"):
        by_run.setdefault(entity_of(event), []).append(event)
    for entity, events in by_run.items():
        lines = {(event.source.path, event.source.line) for event in events}
        good = [
            event.order
            for event in store.events("progress.step")
            if entity_of(event) == entity and (event.source.path, event.source.line) not in lines
        ]
        last = [event for event in events if event.order > max(good, default=-1)]
        because = tuple(event.source for event in (last or events)[-2:])
        yield Fact("run.nan_gradients_at_end", len(last), entity, Source("derived"), None, Quality.DERIVED, because)
