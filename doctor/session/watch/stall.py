"""When a silence that goes on is worth a word: the time-out does not wait for the next look at a calm job."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.store import FactStore
from doctor.facts.vitals.pulse import allowed


def stalls_at(store: FactStore) -> float | None:
    """When `live.stalled` comes to hold unless a line comes before, in seconds since the epoch: of the run in which it
    does first. None where it holds by now, or nothing tells of steps."""
    return min(_moments(store), default=None)


def _moments(store: FactStore) -> Iterator[float]:
    for silence in store.every("live.silence"):
        where = silence.entity
        stalled, since = store.get("live.stalled", where), _number(store, "live.silent_since", where)
        timeout = _number(store, "live.timeout", "job")
        if since is None or timeout is None or (stalled is not None and stalled.value is True):
            continue
        usual, longest = (_number(store, name, where) or 0.0 for name in ("live.step_gap", "live.longest_pause"))
        yield since + allowed(usual, longest, timeout, store.get("live.phase", where) is not None)


def _number(store: FactStore, name: str, entity: str) -> float | None:
    found = store.get(name, entity)
    return float(found.value) if found is not None and isinstance(found.value, int | float) else None
