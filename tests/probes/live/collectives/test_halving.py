"""By halves to the fewest ranks among which an operation hangs."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from probes.live.collectives.halving import Narrowed, Ranks, narrowed


def found(world: int, hangs: Callable[[Ranks], bool]) -> Narrowed:
    return narrowed(range(world), lambda sets: [ranks for ranks in sets if len(ranks) > 1 and hangs(ranks)])


@pytest.mark.parametrize("world", [3, 4, 5, 8, 13, 64])
def test_two_ranks_that_cannot_meet_are_found_wherever_they_are(world: int) -> None:
    for a in range(min(world, 8)):
        for b in (a + 1, world - 1):
            if a < b < world:
                result = found(world, lambda ranks, a=a, b=b: {a, b} <= set(ranks))  # type: ignore[misc]
                assert result.ranks == (a, b)
                assert result.tries <= 3 * math.ceil(math.log2(world))


def test_a_rank_that_hangs_with_everybody_is_left_with_one_other() -> None:
    result = found(16, lambda ranks: 11 in ranks)
    assert len(result.ranks) == 2 and 11 in result.ranks


def test_what_fails_only_at_scale_names_how_many_pass() -> None:
    result = found(16, lambda ranks: len(ranks) > 8)
    assert len(result.ranks) == 16
    assert result.passed and all(len(ranks) == 8 for ranks in result.passed)


def test_what_passes_beside_the_pair_is_told() -> None:
    result = found(8, lambda ranks: {1, 6} <= set(ranks))
    assert all(not {1, 6} <= set(ranks) for ranks in result.passed) and result.passed
