from __future__ import annotations

import pytest

from doctor.facts.derive.speed_bound import derive
from doctor.facts.model import Fact, Source
from tests.support import store

LOG = Source("file", "job.log", 7)


def share(tflops: float, *more: Fact) -> list[object]:
    known = (Fact("run.tflops", tflops, "job", LOG), Fact("run.memory_max", 40 * 2**30, "job", LOG))
    return [fact.value for fact in derive(store(*known, *more))]


def test_a_speed_beyond_small_cards_bounds_the_share_of_memory() -> None:
    assert share(296.5) == [pytest.approx(40 / 79)]


def test_a_speed_that_a_card_of_40_gb_reaches_tells_nothing() -> None:
    assert share(250.0) == []


def test_products_in_fp8_are_fast_on_small_cards_too() -> None:
    assert share(296.5, Fact("config.fp8", True, "job", LOG)) == []


def test_where_the_share_is_known_nothing_is_guessed() -> None:
    assert share(296.5, Fact("run.memory_share", 0.9, "job", LOG)) == []
