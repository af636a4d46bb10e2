"""Finds the slow node or the slow link among many by measuring pairs.

A pair runs at the speed of the slowest of its two ends and its path. So a node is slow when it is slow with everybody,
a path when its ends are quick with others. Few nodes all meet each other. Many meet their neighbours on the ring,
which is where collectives run, and two drawn partners: a number of rounds that does not grow with the nodes. What looks
slow is measured again with partners that are above suspicion, and only these measurements count, since the first were
picked for being slow.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, stdev
from typing import TypeAlias

from probes.live.collectives.rounds import matching, pair, ring, scheduled, tournament
from probes.live.collectives.usual import MEDIAN, NOISY, Pair, Usual, usual

Search: TypeAlias = Generator[list[Pair], Mapping[Pair, float], "Verdict"]

ALL_MEET = 16
"""Up to so many nodes every pair is measured."""

DRAWN, AGAIN = 2, 4
"""Random partners of a node where not all meet; and how often a suspect is measured again."""

FEW, TURNS, MOST_TURNS = 8, 3, 9
"""Up to so many nodes every pair is measured so often: few pairs say little of what is usual, and rounds are cheap.
Where that still spreads too much, they are measured again, up to so often."""

STEADY = 0.8 * NOISY
"""Spread up to which a verdict can be trusted not to fail for it once suspects were measured again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the pairs say. `nodes` and `links` are slow; `share` is their rate over the usual one.

    `judged` is false where nothing can be said: one pair alone, measurements that spread too much, or no node
    above suspicion. `tested` of `pairs` were measured, in `rounds` rounds.
    """

    nodes: tuple[int, ...]
    links: tuple[Pair, ...]
    share: Mapping[int | Pair, float]
    usual: Usual
    judged: bool
    why: str
    tested: int
    pairs: int
    rounds: int


def search(nodes: int, draw: random.Random, every: bool = False, edges: Sequence[Pair] = ()) -> Search:
    """Yields rounds of pairs, is sent the rate of each (B/s, both directions at once), and returns the verdict.

    With `every` all pairs meet, however many nodes there are: nodes - 1 rounds. `edges` are the neighbours on the rings
    of a job; without them, those of one ring over all nodes are taken.
    """
    measured: defaultdict[Pair, list[float]] = defaultdict(list)
    rounds = 0
    for these in _first_rounds(nodes, draw, every, edges):
        rounds += 1
        _note(measured, (yield these))
    norm = _norm(measured)
    for turn in range(TURNS, MOST_TURNS if 2 < nodes <= FEW else 0):
        if norm.spread <= STEADY and turn % TURNS == 0:
            break
        for these in tournament(nodes):
            rounds += 1
            _note(measured, (yield these))
        norm = _norm(measured)

    def verdict(bad: Mapping[int, float], worse: Mapping[Pair, float], why: str = "") -> Verdict:
        share = {key: value / norm.rate for found in (bad, worse) for key, value in found.items()}
        pairs = nodes * (nodes - 1) // 2
        links = tuple(sorted(worse)) if not why else ()
        told = tuple(sorted(bad)) if not why else ()
        return Verdict(told, links, share, norm, not why, why, len(measured), pairs, rounds)

    if nodes < 3:
        return verdict({}, {}, "one pair has nothing to be compared with")
    slow = {ends for ends, rates in measured.items() if norm.slow(rates)}
    if not slow:
        return verdict({}, {}, "healthy pairs differ too much" if norm.spread > 2 * NOISY else "")
    suspects = [node for node in sorted({node for ends in slow for node in ends}) if _often(node, measured, slow)]
    cleared = sorted({node for ends in measured if ends not in slow for node in ends})
    cleared.sort(key=lambda node: (node in suspects, sum(node in ends for ends in slow)))
    if not cleared:
        return verdict({}, {}, "no node is above suspicion")
    often = max(AGAIN, min(map(len, measured.values())))  # as many as it took to be sure of the others
    again: defaultdict[Pair, list[float]] = defaultdict(list)
    for these in scheduled(_with_cleared(suspects, cleared, slow, often)):
        rounds += 1
        _note(again, (yield these))
    bad = {node: median(_of(node, again)) for node in suspects if _confirmed(node, again, norm)}
    if 2 * len(bad) >= nodes:
        return verdict({}, {}, "at least half of the nodes look slow, so none is usual")
    candidates = sorted(ends for ends in slow if not set(ends) & bad.keys())
    last: defaultdict[Pair, list[float]] = defaultdict(list)
    for these in scheduled(ends for ends in candidates for _ in range(often)):
        rounds += 1
        _note(last, (yield these))
    worse = {ends: median(rates) for ends, rates in last.items() if norm.slow(rates)}
    # Once more, later: what disturbed a few rounds may have passed.
    anew: defaultdict[Pair, list[float]] = defaultdict(list)
    partners = _with_cleared(sorted(bad), [node for node in cleared if node not in bad], slow, often)
    for these in scheduled([*partners, *(ends for ends in worse for _ in range(often))]):
        rounds += 1
        _note(anew, (yield these))
    bad = {node: rate for node, rate in bad.items() if _confirmed(node, anew, norm)}
    worse = {ends: rate for ends, rate in worse.items() if norm.slow(anew[ends])}
    noisy = norm.spread > NOISY and (bad or worse)
    return verdict(bad, worse, "healthy pairs differ too much" if noisy else "")


def _first_rounds(nodes: int, draw: random.Random, every: bool, edges: Sequence[Pair]) -> list[list[Pair]]:
    if nodes < 2:
        return []
    if every or nodes <= ALL_MEET:
        return list(tournament(nodes)) * (TURNS if nodes <= FEW else 1)
    return [*scheduled(edges or ring(nodes)), *(matching(nodes, draw) for _ in range(DRAWN))]


def _norm(measured: Mapping[Pair, Sequence[float]]) -> Usual:
    """What is usual of the pairs; where they were measured several times, their own spread counts too."""
    of = min(map(len, measured.values()), default=1)
    norm = usual((rate for rates in measured.values() for rate in rates), of)
    if of < 2:
        return norm
    own = median(stdev(math.log(max(rate, 1e-9)) for rate in rates) for rates in measured.values())
    return replace(norm, spread=max(norm.spread, own * MEDIAN / math.sqrt(of)))


def _note(measured: defaultdict[Pair, list[float]], rates: Mapping[Pair, float]) -> None:
    for ends, rate in rates.items():
        measured[ends].append(rate)


def _of(node: int, measured: Mapping[Pair, list[float]]) -> list[float]:
    return [rate for ends, rates in measured.items() if node in ends for rate in rates]


def _often(node: int, measured: Mapping[Pair, list[float]], slow: set[Pair]) -> bool:
    """Is the node slow with at least half of those it met?"""
    met = [ends for ends in measured if node in ends]
    return bool(met) and 2 * sum(ends in slow for ends in met) >= len(met)


def _with_cleared(suspects: list[int], cleared: list[int], slow: set[Pair], often: int) -> list[Pair]:
    """Every suspect several times with others that were quick with somebody; where it can be, not with those it was
    slow with."""
    best = cleared[: max(2 * len(suspects), AGAIN)]
    found = []
    for turn in range(often):
        for at, node in enumerate(suspects):
            met = [other for other in best if other != node] or [other for other in cleared if other != node]
            others = [other for other in met if pair(node, other) not in slow] or met
            found += [pair(node, others[(at + turn) % len(others)])] if others else []
    return found


def _confirmed(node: int, again: Mapping[Pair, list[float]], norm: Usual) -> bool:
    """A node is slow when it is slow with its new partners; one slow path among them is not enough."""
    rates = _of(node, again)
    return bool(rates) and norm.slow(rates)


def drive(steps: Search, measure: Callable[[list[Pair]], Mapping[Pair, float]]) -> Verdict:
    """Runs a search to its end; `measure` gives the rate of every pair of a round."""
    try:
        these = next(steps)
        while True:
            these = steps.send(measure(these))
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict
