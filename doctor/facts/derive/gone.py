"""Which rank is gone without a word: all others lost their connection, and it alone says nothing of a failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore

LOST = ("gloo.peer_closed", "nccl.remote_closed")
NEEDS = tuple(f"event:{name}" for name in LOST)
GIVES = ("failure.gone", "failure.gone_peers")
FEWEST = 3
"""Ranks: of two, the one that says nothing may as well not have got to it yet."""


def derive(store: FactStore) -> Iterator[Fact]:
    """`failure.gone` of the rank, in the run whose other ranks lost it."""
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
        for name, value in (("failure.gone", True), ("failure.gone_peers", len(peers))):
            yield Fact(name, value, where, because[0] if because else Source("derived"), None, Quality.DERIVED, because)
