"""Ranks are written as people write them."""

from doctor.facts.ranks import names, ranges


def test_neighbours_are_a_range_from_three_on() -> None:
    assert ranges([2, 0, 1, 5]) == "0-2, 5"
    assert ranges([3, 4]) == "3, 4"
    assert ranges(range(0, 20, 2)) == "0, 2, 4, 6, 8, 10, …"


def test_one_rank_is_no_plural() -> None:
    assert names([3]) == "rank 3"
    assert names([0, 1, 2, 5]) == "ranks 0-2, 5"
