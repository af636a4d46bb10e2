"""A rank that suddenly takes far longer than the others is told after few steps; noise and short pauses are not."""

from __future__ import annotations

import random
from collections.abc import Callable

from doctor.facts.vitals.outlier import outlier

LEAST = 0.1


def series(steps: int, ranks: int = 4, sigma: float = 0.1, seed: int = 1) -> dict[int, list[float]]:
    rng = random.Random(seed)
    return {rank: [rng.lognormvariate(0, sigma) for _ in range(steps)] for rank in range(ranks)}


def slowed(own: dict[int, list[float]], rank: int, times: float, last: int) -> dict[int, list[float]]:
    values = own[rank]
    own[rank] = [*values[:-last], *(value * times for value in values[-last:])]
    return own


def needed(times: float, make: Callable[[int], dict[int, list[float]]]) -> int | None:
    """Slow steps after which rank 2 is told."""
    for last in range(1, 40):
        found = outlier(slowed(make(60), 2, times, last), LEAST)
        if found is not None:
            assert found[0] == 2
            return last
    return None


def test_eight_times_as_long_as_the_others_is_told_after_four_steps() -> None:
    assert needed(8, series) == 4
    assert needed(8, lambda steps: series(steps, sigma=0.3)) == 4


def test_half_as_long_again_is_left_to_the_medians() -> None:
    assert needed(1.5, series) is None


def test_how_much_longer_it_takes() -> None:
    found = outlier(slowed({rank: [1.0] * 40 for rank in range(4)}, 1, 8, 5), LEAST)
    assert found == (1, 8.0)


def test_three_slow_steps_and_slow_steps_that_are_over_are_not_told() -> None:
    assert outlier(slowed(series(60), 2, 8, 3), LEAST) is None
    own = slowed(series(60), 2, 8, 6)
    for values in own.values():
        values.append(1.0)
    assert outlier(own, LEAST) is None


def test_a_job_whose_ranks_stand_out_now_and_then_is_waited_for_longer() -> None:
    def restless(steps: int) -> dict[int, list[float]]:
        own = series(steps)
        for rank, index in ((0, 5), (0, 6), (1, 11), (1, 12), (3, 17), (3, 23), (3, 24)):
            own[rank][index] *= 8
        return own

    told = needed(8, restless)
    assert told is not None and told > 8


def test_a_step_in_which_all_are_slow_is_nobodys() -> None:
    own = series(60)
    assert (
        outlier({rank: [*values[:-8], *(8 * value for value in values[-8:])] for rank, values in own.items()}, 0)
        is None
    )


def test_a_difference_that_does_not_matter_and_too_few_ranks_or_steps_tell_nothing() -> None:
    def tiny(own: dict[int, list[float]]) -> dict[int, list[float]]:
        return {rank: [value / 100 for value in values] for rank, values in own.items()}

    assert outlier(tiny(slowed(series(60), 2, 8, 6)), LEAST) is None
    assert outlier(slowed(series(60, ranks=2), 1, 8, 6), LEAST) is None
    assert outlier(slowed(series(9), 2, 8, 5), LEAST) is None
    assert outlier({}, LEAST) is None


def test_a_rank_whose_log_has_just_begun_does_not_hide_the_others() -> None:
    assert outlier({**slowed(series(60), 2, 8, 6), 9: [1.0]}, LEAST) is not None
