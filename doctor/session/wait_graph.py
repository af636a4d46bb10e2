"""Who waits for whom, as the flight recorder's dumps tell: like edges put together."""

from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.facts.store import FactStore

EDGE = re.compile(r"(\d{1,6}) > (\d{1,6}): (.*) \(([^()]*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Waits:
    """Ranks that wait for the same ranks, in the same call, for the same reason."""

    waiters: tuple[int, ...]
    awaited: tuple[int, ...]
    call: str
    why: str


@dataclass(frozen=True, slots=True)
class WaitGraph:
    """`edges` with most waiters first; `culprits` hold up the others; `circle` are ranks that wait for each other."""

    edges: tuple[Waits, ...]
    culprits: tuple[int, ...] = ()
    circle: tuple[int, ...] = ()


def wait_graph_of(store: FactStore) -> WaitGraph | None:
    """The graph; None where no dump tells of one that waits."""
    fact = store.get("fr.wait_graph")
    if fact is None or not isinstance(fact.value, tuple):
        return None
    targets: dict[tuple[int, str, str], set[int]] = {}
    for text in fact.value:
        if found := EDGE.fullmatch(str(text)):
            targets.setdefault((int(found[1]), found[3], found[4]), set()).add(int(found[2]))
    groups: dict[tuple[tuple[int, ...], str, str], list[int]] = {}
    for (waiter, call, why), awaited in targets.items():
        groups.setdefault((tuple(sorted(awaited)), call, why), []).append(waiter)
    edges = [Waits(tuple(sorted(who)), whom, call, why) for (whom, call, why), who in groups.items()]
    edges.sort(key=lambda edge: (-len(edge.waiters), edge.waiters, edge.awaited))
    if not edges:
        return None
    return WaitGraph(tuple(edges), _ranks(store, "fr.culprits"), _ranks(store, "fr.circle"))


def _ranks(store: FactStore, name: str) -> tuple[int, ...]:
    fact = store.get(name)
    values = fact.value if fact is not None and isinstance(fact.value, tuple) else ()
    return tuple(value for value in values if isinstance(value, int))
