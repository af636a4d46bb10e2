"""Which rank the others lost, or wait for in vain: all of them say so, and it alone says nothing of a failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore

TIMED_OUT = "gloo.timeout"
LOST = (TIMED_OUT, "gloo.peer_closed", "nccl.remote_closed")
NEEDS = tuple(f"event:{name}" for name in LOST)
GIVES = ("failure.gone", "failure.awaited", "failure.peers")
FEWEST = 3
"""Ranks: of two, the one that says nothing may as well not have got to it yet."""


def derive(store: FactStore) -> Iterator[Fact]:
    """`failure.awaited` of the rank where one of the others waited until a time-out, else `failure.gone`."""
    lost: dict[str, dict[int, Event]] = defaultdict(dict)
    for name in LOST:
        for event in store.events(name):
            if event.rank is not None:
                lost[event.run].setdefault(event.rank, event)
    if not lost:
        return
    follow = {event.source for event in store.events() if event.fields.get("follows")}
    ranks: dict[str, set[int]] = defaultdict(set)
    failed = set()
    for event in store.events():
        if event.rank is None:
            continue
        ranks[event.run].add(event.rank)
        if event.fields.get("symptom") == "fatal" and event.source not in follow:
            failed.add(event.rank)
    for run, peers in lost.items():
        silent = ranks[run] - set(peers)
        if len(ranks[run]) < FEWEST or len(silent) != 1 or silent & failed:
            continue
        where = f"rank:{silent.pop()}"
        because = tuple(event.source for event in list(peers.values())[:4])
        waited = any(event.name == TIMED_OUT for event in peers.values())
        for name, value in (("failure.awaited" if waited else "failure.gone", True), ("failure.peers", len(peers))):
            yield Fact(name, value, where, because[0] if because else Source("derived"), None, Quality.DERIVED, because)
