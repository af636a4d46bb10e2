"""A lasting change of level is told; single wild values, noise and small changes are not."""

from __future__ import annotations

import random

import pytest
from pytest import approx

from doctor.facts.model import Source
from doctor.facts.vitals.robust import DECISION, Shift, concordance, slope, spread

HERE = Source("log", "a.log", 1)


def shown(values: list[float], least: float = 1.2, rises: bool = True) -> float | None:
    series = Shift(least, rises)
    for value in values:
        series.see(value, HERE)
    return series.ratio


def noise(count: int, level: float = 2.0, sigma: float = 0.05, seed: int = 0) -> list[float]:
    rng = random.Random(seed)
    return [level * rng.lognormvariate(0, sigma) for _ in range(count)]


def test_the_spread_of_normal_values_is_their_sigma() -> None:
    rng = random.Random(1)
    assert spread([rng.gauss(10, 2) for _ in range(20_000)]) == approx(2, rel=0.03)


def test_a_fifth_of_the_points_may_be_wild() -> None:
    points = [(float(x), 3.0 * x if x % 5 else 1e6) for x in range(40)]
    assert slope(points) == approx(3.0, abs=0.5)


def test_values_that_only_rise_and_values_that_rise_and_fall() -> None:
    assert concordance([(x, x * 2.0) for x in range(10)]) == 1
    assert concordance([(x, float(x % 2)) for x in range(10)]) < 0.3


@pytest.mark.parametrize("ratio", [1.3, 1.5, 2.0])
def test_a_level_that_rose_for_good(ratio: float) -> None:
    assert shown([*noise(60), *noise(24, 2.0 * ratio, seed=1)]) == approx(ratio, rel=0.1)


def test_a_rate_that_fell_for_good() -> None:
    assert shown([*noise(60, 400), *noise(24, 300, seed=1)], rises=False) == approx(4 / 3, rel=0.1)
    assert shown([*noise(60, 400), *noise(24, 300, seed=1)]) is None


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.1])
def test_noise_with_wild_values_is_no_change(seed: int, sigma: float) -> None:
    rng = random.Random(seed)
    series = Shift(1.2)
    for value in noise(2000, sigma=sigma, seed=seed):
        series.see(value * (rng.uniform(1.5, 6) if rng.random() < 0.03 else 1), HERE)
        assert series.score < DECISION or series.ratio is None


def test_a_change_too_small_to_matter() -> None:
    assert shown([*noise(60), *noise(200, 2.0 * 1.1, seed=1)]) is None


def test_three_slow_values_and_a_change_that_is_over() -> None:
    assert shown([*noise(60), 20.0, 20.0, 20.0, *noise(5, seed=1)]) is None
    assert shown([*noise(60), *noise(40, 4.0, seed=1), *noise(60, seed=2)]) is None


def test_the_first_values_are_warm_up() -> None:
    assert shown([90.0, 40.0, *noise(60)]) is None


def test_values_of_zero_and_few_values() -> None:
    assert shown([0.0] * 100) is None
    assert shown([1.0] * 10) is None
