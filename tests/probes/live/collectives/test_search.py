"""The search for the slow host or link, over simulated pairs with noise."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping

import pytest

from probes.live.collectives.rounds import matching, pair, ring, scheduled, tournament
from probes.live.collectives.search import Verdict, drive, search
from probes.live.collectives.usual import Pair, usual

FULL = 5e9


def network(
    draw: random.Random, noise: float, hosts: Collection[int] = (), links: Collection[Pair] = (), slowdown: float = 0.6
) -> Callable[[list[Pair]], Mapping[Pair, float]]:
    """Pairs that are as fast as the slower end and the path between them, with lognormal noise."""

    def measure(these: list[Pair]) -> dict[Pair, float]:
        return {ends: FULL * pace(ends) * math.exp(draw.gauss(0, noise)) for ends in these}

    def pace(ends: Pair) -> float:
        return slowdown if set(ends) & set(hosts) or ends in links else 1.0

    return measure


def found(nodes: int, seed: int, noise: float = 0.05, **faults: Collection[int]) -> Verdict:
    draw = random.Random(seed)
    return drive(search(nodes, draw), network(draw, noise, **faults))  # type: ignore[arg-type]


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 16, 17, 64])
def test_healthy_nodes_are_fine(nodes: int) -> None:
    for seed in range(20):
        verdict = found(nodes, seed)
        assert (verdict.nodes, verdict.links, verdict.judged) == ((), (), True)


@pytest.mark.parametrize("nodes", [3, 4, 8, 9, 16, 33, 64])
def test_one_slow_node_is_named_and_nothing_else(nodes: int) -> None:
    for seed in range(20):
        verdict = found(nodes, seed, hosts=[seed % nodes])
        assert (verdict.nodes, verdict.links) == ((seed % nodes,), ())
        assert verdict.share[seed % nodes] == pytest.approx(0.6, abs=0.12)


@pytest.mark.parametrize("nodes", [3, 4, 8, 9, 16])
def test_one_slow_link_is_named_and_neither_of_its_ends(nodes: int) -> None:
    for seed in range(20):
        link = pair(seed % nodes, (seed + 2) % nodes)
        verdict = found(nodes, seed, links=[link])
        assert (verdict.nodes, verdict.links) == ((), (link,))


@pytest.mark.parametrize("nodes", [17, 64, 257])
def test_among_many_a_slow_link_of_the_ring_is_named_in_rounds_that_do_not_grow(nodes: int) -> None:
    for seed in range(5):
        link = pair(seed, seed + 1)
        verdict = found(nodes, seed, links=[link])
        assert (verdict.nodes, verdict.links) == ((), (link,))
        assert verdict.rounds <= 15


@pytest.mark.parametrize("faults", [{"hosts": [5]}, {"links": [(0, 2)]}], ids=["host", "link"])
@pytest.mark.parametrize("first", range(40))
def test_what_is_disturbed_for_some_rounds_is_not_blamed(faults: dict[str, Collection[int]], first: int) -> None:
    draw = random.Random(first)
    well, disturbed = network(draw, 0.03), network(draw, 0.03, **faults)  # type: ignore[arg-type]
    rounds = iter(range(1000))

    def measure(these: list[Pair]) -> Mapping[Pair, float]:
        return (disturbed if first <= next(rounds) < first + 14 else well)(these)

    verdict = drive(search(8, draw), measure)
    assert (verdict.nodes, verdict.links) == ((), ())


def test_two_slow_nodes_of_eight_are_both_named() -> None:
    hits = Counter(found(8, seed, hosts=[1, 6]).nodes for seed in range(20))
    assert hits[(1, 6)] == 20


def test_a_slow_node_and_a_slow_link_elsewhere_are_told_apart() -> None:
    verdict = found(8, 1, hosts=[2], links=[(4, 7)])
    assert (verdict.nodes, verdict.links) == ((2,), ((4, 7),))


def test_much_noise_is_said_to_be_noise() -> None:
    verdicts = [found(8, seed, noise=0.6) for seed in range(20)]
    assert not any(verdict.nodes or verdict.links for verdict in verdicts)
    assert any(not verdict.judged for verdict in verdicts)


def test_one_pair_has_nothing_to_be_compared_with() -> None:
    verdict = found(2, 0)
    assert not verdict.judged
    assert verdict.tested == verdict.pairs == 1


def test_what_was_not_tested_is_counted() -> None:
    verdict = found(64, 0)
    assert verdict.tested < verdict.pairs == 64 * 63 // 2


@pytest.mark.parametrize("nodes", [2, 3, 8, 9])
def test_everybody_meets_everybody_once_and_never_two_at_a_time(nodes: int) -> None:
    rounds = list(tournament(nodes))
    met = Counter(ends for these in rounds for ends in these)
    assert len(met) == nodes * (nodes - 1) // 2 and set(met.values()) == {1}
    assert all(len({end for ends in these for end in ends}) == 2 * len(these) for these in rounds)


def test_a_ring_takes_two_rounds_or_three_where_it_is_odd() -> None:
    assert len(scheduled(ring(64))) <= 3
    assert len(scheduled(ring(9))) == 3


def test_a_matching_leaves_at_most_one_alone() -> None:
    assert len(matching(9, random.Random(0))) == 4


def test_what_is_usual_is_not_moved_by_a_slow_minority() -> None:
    norm = usual([100.0, 101, 99, 100, 40, 41, 39])
    assert norm.rate == pytest.approx(100, rel=0.02)
    assert norm.slow([60.0]) and not norm.slow([95.0])


def test_any_slow_link_among_many_is_named_where_all_meet() -> None:
    draw = random.Random(3)
    verdict = drive(search(40, draw, every=True), network(draw, 0.05, links=[(3, 29)]))
    assert (verdict.nodes, verdict.links, verdict.tested) == ((), ((3, 29),), 40 * 39 // 2)
