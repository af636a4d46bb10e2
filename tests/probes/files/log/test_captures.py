"""Captured text becomes a value of its kind."""

from __future__ import annotations

import time

import pytest

from probes.files.log.captures import convert


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m 7s", 607.0), ("1h2m3.5s", 3723.5), ("0:30:00", 1800.0), ("2.5", 2.5), ("16 ms", 0.016), ("3 mins", 180.0)],
)
def test_seconds(text: str, seconds: float) -> None:
    assert convert(text, "seconds") == pytest.approx(seconds)


def test_a_number_of_many_digits_costs_no_more_than_its_length() -> None:
    """Each of its digits was taken for the start of a number: 200 ms for a line."""
    begun = time.process_time()
    for _ in range(20):
        assert convert("1.1" * 1300, "seconds") is None
    assert time.process_time() - begun < 0.5
