"""Which rank failed first, over logs whose clocks may differ.

Lines that other failures cause (`follows`) do not count. Within a file its order decides; between files the times,
corrected by what ranks on both hosts saw of the same collective; where times cannot decide, the training step and the
collective's sequence number do. A rank that only waited counts after one that broke.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median

from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore

NEEDS: tuple[str, ...] = ()
GIVES = ("failure.first_rank", "failure.first_line", "failure.first_event")

TRUSTED = 30.0
"""Seconds by which the clocks of two hosts may differ unnoticed; NTP keeps far below, hosts without it do not."""

JITTER = 0.001


def derive(store: FactStore) -> Iterator[Fact]:
    """First failure of each run, with the line that shows it."""
    runs: dict[str, list[Event]] = defaultdict(list)
    for event in store.events():
        runs[event.run].append(event)
    for run, events in runs.items():
        first = first_failure(events)
        if first is None:
            continue
        entity = "job" if run == "job" else f"run:{run}"
        because = (first.source,)
        if first.rank is not None:
            yield Fact("failure.first_rank", first.rank, entity, first.source, first.time, because=because)
        yield Fact("failure.first_line", first.source.text, entity, first.source, first.time, because=because)
        yield Fact("failure.first_event", first.name, entity, first.source, first.time, because=because)


def first_failure(events: Iterable[Event]) -> Event | None:
    """The earliest failure that no other line is known to have caused, or None if nothing failed."""
    events = list(events)
    fatal = [event for event in events if event.fields.get("symptom") == "fatal"]
    if not fatal:
        return None
    # A traceback that ends in such a line is one, too.
    caused = {event.source for event in events if event.fields.get("follows")}
    candidates = [event for event in fatal if event.source not in caused] or fatal
    firsts: dict[tuple[str, int | None], Event] = {}
    for event in candidates:
        key = (event.source.path, event.rank)
        if key not in firsts or event.order < firsts[key].order:
            firsts[key] = event
    offsets = clock_offsets(events)
    best: Event | None = None
    for event in firsts.values():
        if best is None or _before(event, best, offsets):
            best = event
    return best


def clock_offsets(events: Sequence[Event]) -> Mapping[str, float]:
    """Seconds that each host's clock is ahead of the first host's, from collectives that began on both.

    All ranks of a collective begin to wait at about the same time, so the medians of the differences are the clocks'.
    Hosts without a shared collective are missing.
    """
    begun: dict[tuple[object, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        ran = event.fields.get("ran_ms")
        if not isinstance(ran, int | float):
            continue
        sequence = event.fields.get("seq")
        if event.time is not None and event.host and sequence is not None:
            key = (event.run, sequence, event.fields.get("op"))
            begun[key][event.host].append(event.time - ran / 1000)
    differences: dict[tuple[str, str], list[float]] = defaultdict(list)
    for by_host in begun.values():
        middle = {host: median(times) for host, times in by_host.items()}
        for a, b in combinations(sorted(middle), 2):
            differences[a, b].append(middle[b] - middle[a])
    offsets: dict[str, float] = {}
    for (a, b), seconds in sorted(differences.items()):
        offsets.setdefault(a, 0.0)
        offsets.setdefault(b, offsets[a] + median(seconds))
    return offsets


def _before(a: Event, b: Event, offsets: Mapping[str, float]) -> bool:
    if a.source.path == b.source.path:
        return a.order < b.order
    if a.time is not None and b.time is not None:
        known = a.host == b.host or (a.host in offsets and b.host in offsets)
        gap = (a.time - offsets.get(a.host or "", 0.0)) - (b.time - offsets.get(b.host or "", 0.0))
        if abs(gap) > (JITTER if known else TRUSTED):
            return gap < 0
    return _rough(a) < _rough(b)


def _rough(event: Event) -> tuple[bool, float, float, float, float]:
    """Order where clocks do not help: what broke before what waited, then step, sequence number, time and rank."""
    sequence = event.fields.get("seq")
    return (
        sequence is not None,
        event.step if event.step is not None else float("inf"),
        sequence if isinstance(sequence, int | float) else float("inf"),
        event.time if event.time is not None else float("inf"),
        event.rank if event.rank is not None else float("inf"),
    )
