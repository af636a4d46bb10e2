"""The figures of the studies: known sums by hand, and maps that do what they say."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.left_out import cut_rows, recalibrated
from studies.recalibration import isotonic, platt
from studies.reliability import bins, brier, decomposed
from studies.remedies import read_verdicts
from studies.table import percent, table

POINTS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=40)


def test_the_brier_score_is_the_mean_squared_error() -> None:
    assert brier([(1.0, True), (0.5, False)]) == pytest.approx(0.125)
    assert brier([]) == 0


@given(POINTS)
def test_its_parts_add_up(points: list[tuple[float, bool]]) -> None:
    reliability, resolution, uncertainty, rest = decomposed(points)
    assert reliability - resolution + uncertainty + rest == pytest.approx(brier(points))
    assert min(reliability, resolution, uncertainty) >= 0


@given(POINTS)
def test_every_point_is_in_one_bin(points: list[tuple[float, bool]]) -> None:
    assert sum(len(inside) for _, _, inside in bins(points)) == len(points)


@given(POINTS)
def test_maps_of_the_confidence_rise(points: list[tuple[float, bool]]) -> None:
    rates = [isotonic(points)(p / 20) for p in range(21)]
    assert rates == sorted(rates) and all(0 <= rate <= 1 for rate in rates)


def test_platt_corrects_what_is_said_too_low() -> None:
    rng = random.Random(0)
    said = [(belief, rng.random() < min(1, belief + 0.3)) for belief in (rng.uniform(0.3, 0.7) for _ in range(400))]
    assert platt(said)(0.5) == pytest.approx(0.8, abs=0.05)
    without, left_out = (float(str(row[1])) for row in recalibrated(said)[:2])
    assert left_out < without


def test_a_cut_between_right_and_wrong_is_found_without_the_case_it_is_judged_on() -> None:
    _, said = cut_rows([(0.9, True)] * 10 + [(0.35, False)] * 10)
    assert said == "Chosen without the case it is judged on: 0.5 x20; gain 10 of 20."


def test_verdicts_are_complete_and_of_three_kinds() -> None:
    verdicts = read_verdicts()
    assert verdicts and {verdict for verdict, _ in verdicts.values()} <= {"accept", "partly", "no"}
    assert all(why for _, why in verdicts.values())


def test_a_value_cannot_break_its_table() -> None:
    assert table(("a", "b"), [("x|y", "two\nlines <b>")]).splitlines()[2] == "| x\\|y | two lines &lt;b> |"
    assert percent(1, 0) == "-"
