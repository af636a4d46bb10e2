"""Rounds of pairs: in a round every node talks to at most one other, so that no pair disturbs another's ends."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from probes.live.collectives.usual import Pair


def pair(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def tournament(nodes: int) -> Iterator[list[Pair]]:
    """Every pair once, in nodes - 1 rounds (nodes, where that is odd): the circle method of round-robin tournaments."""
    places: list[int | None] = [*range(nodes), *([None] if nodes % 2 else [])]
    half = len(places) // 2
    for _ in range(len(places) - 1):
        met = zip(places[:half], reversed(places[half:]), strict=True)
        yield [pair(a, b) for a, b in met if a is not None and b is not None]
        places = [places[0], places[-1], *places[1:-1]]


def ring(nodes: int) -> list[Pair]:
    """The neighbours on a ring in order of rank, as NCCL lays rings over hosts."""
    return sorted({pair(node, (node + 1) % nodes) for node in range(nodes) if nodes > 1})


def matching(nodes: int, draw: random.Random) -> list[Pair]:
    """Every node (but one, where their number is odd) with one drawn at random."""
    order = list(range(nodes))
    draw.shuffle(order)
    return [pair(a, b) for a, b in zip(order[::2], order[1::2], strict=False)]


def scheduled(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """`pairs`, which may repeat, in few rounds: each goes into the first in which both its ends are free."""
    rounds: list[list[Pair]] = []
    taken: list[set[int]] = []
    for ends in pairs:
        place = next((at for at, busy in enumerate(taken) if not busy & set(ends)), len(rounds))
        if place == len(rounds):
            rounds.append([])
            taken.append(set())
        rounds[place].append(ends)
        taken[place].update(ends)
    return rounds
