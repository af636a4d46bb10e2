"""When a silence that goes on is worth a word: the time-out does not wait for the next look at a calm job."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.store import FactStore
from doctor.facts.vitals.pulse import OVER, patience


def stalls_at(store: FactStore) -> float | None:
    """When there will be something else to say of a silence unless a line comes before, in seconds since the epoch: of
    the run in which that is first. None where there is nothing more to say, or nothing tells of steps."""
    return min(_moments(store), default=None)


def _moments(store: FactStore) -> Iterator[float]:
    timeout = _number(store, "live.timeout", "job")
    for silence in store.every("live.silence"):
        where = silence.entity
        quiet, since = (_number(store, name, where) for name in ("live.silence", "live.silent_since"))
        if quiet is None or since is None or timeout is None:
            continue
        usual, longest = (_number(store, name, where) or 0.0 for name in ("live.step_gap", "live.longest_pause"))
        may = patience(usual, longest, timeout, store.get("live.phase", where) is not None)
        yield from (since + after for after in (may.word, may.doubt, timeout + OVER) if after >= quiet)


def _number(store: FactStore, name: str, entity: str) -> float | None:
    found = store.get(name, entity)
    return float(found.value) if found is not None and isinstance(found.value, int | float) else None
