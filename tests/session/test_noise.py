from __future__ import annotations

from random import Random

import pytest

from doctor.session.noise import USUAL_NOISE, State, interval, judged, noise_of


def series(middle: float, spread: float, count: int = 20, seed: int = 1) -> list[float]:
    chance = Random(seed)
    return [chance.gauss(middle, spread * middle) for _ in range(count)]


def test_a_clear_gain_is_better_in_the_sense_of_its_quantity() -> None:
    assert judged(series(2.0, 0.02), series(1.6, 0.02), False, USUAL_NOISE).state is State.BETTER
    assert judged(series(2.0, 0.02), series(1.6, 0.02), True, USUAL_NOISE).state is State.WORSE


def test_three_percent_is_noise_however_steady_the_steps_are() -> None:
    assert judged([1.0] * 20, [0.97] * 20, False, USUAL_NOISE).state is State.SAME


def test_three_percent_counts_where_repeats_show_a_third_of_one() -> None:
    noise = noise_of([[1.0] * 20, [1.003] * 20])
    assert judged([1.0] * 20, [0.97] * 20, False, noise).state is State.BETTER


def test_repeats_that_differ_widely_raise_the_noise() -> None:
    noise = noise_of([[1.0] * 20, [1.1] * 20])
    assert noise > 0.15
    assert judged([1.0] * 20, [0.9] * 20, False, noise).state is State.SAME


def test_steps_that_vary_more_than_the_medians_differ_tell_nothing() -> None:
    assert judged(series(2.0, 0.6, 8), series(1.8, 0.6, 8, 2), False, USUAL_NOISE).state is State.UNCLEAR


@pytest.mark.parametrize(("count", "state"), [(1, State.SINGLE), (4, State.FEW), (5, State.BETTER)])
def test_fewer_than_five_steps_are_not_judged(count: int, state: State) -> None:
    assert judged([2.0] * 20, [1.0] * count, False, USUAL_NOISE).state is state


def test_what_is_small_against_the_step_does_not_count() -> None:
    assert judged([1e-6] * 10, [3e-6] * 10, False, USUAL_NOISE, least=0.01).state is State.SAME


def test_the_interval_holds_the_difference_and_is_the_same_each_time() -> None:
    before, after = series(2.0, 0.1), series(1.5, 0.1, seed=3)
    low, high = interval(before, after)
    assert low < -0.5 < high < 0
    assert (low, high) == interval(before, after)
