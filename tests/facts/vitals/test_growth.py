"""Memory that creeps, told from caches that fill, steps that jump, and noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from math import log

import pytest
from pytest import approx

from doctor.facts.model import Source
from doctor.facts.vitals.growth import MOST, Creep, Growth

GIB = 1024.0**3


def creep(values: Iterable[float]) -> Creep | None:
    growth = Growth()
    for step, value in enumerate(values, 1):
        growth.see(float(step), value, Source("log", "a.log", step))
    assert len(growth.points) <= MOST
    return growth.creep()


@pytest.mark.parametrize("steps", [40, 400, 5000])
def test_the_same_more_in_every_step(steps: int) -> None:
    rng = random.Random(steps)
    found = creep(20 * GIB + 0.01 * GIB * step * 400 / steps + rng.gauss(0, 0.05 * GIB) for step in range(steps))
    assert found is not None
    assert found.per_step == approx(0.01 * GIB * 400 / steps, rel=0.15)
    assert [source.line for source in found.sources] != []


def test_a_leak_in_every_tenth_step() -> None:
    assert creep(20 * GIB + 0.1 * GIB * (step // 10) for step in range(400)) is not None


HEALTHY: dict[str, Callable[[int, random.Random], float]] = {
    "even": lambda step, rng: 20 * GIB,
    "noise": lambda step, rng: 20 * GIB + rng.gauss(0, GIB),
    "a jump": lambda step, rng: (20 if step < 100 else 30) * GIB,
    "a cache that fills": lambda step, rng: 20 * GIB + 10 * GIB * (1 - 0.98**step),
    "the greatest batch so far": lambda step, rng: 20 * GIB + 2 * GIB * log(1 + step),
    "up and down": lambda step, rng: 20 * GIB + (step % 50) * 0.1 * GIB,
    "falling": lambda step, rng: (40 - step * 0.05) * GIB,
    "some thousandths": lambda step, rng: 20 * GIB * (1 + step * 4e-5),
    "nothing in use": lambda step, rng: 0.0,
}


@pytest.mark.parametrize("form", HEALTHY)
def test_what_is_no_leak(form: str) -> None:
    rng = random.Random(form)
    growth = Growth()
    for step in range(1, 400):
        growth.see(float(step), HEALTHY[form](step, rng), Source("log", "a.log", step))
        # A cache that has just begun to fill, or the first rise, may be growth for all that is known.
        assert growth.creep() is None or step < 60, step


def test_a_run_that_goes_back_to_a_checkpoint_begins_anew() -> None:
    growth = Growth()
    for step in [*range(100), *range(50, 60)]:
        growth.see(float(step), GIB * (20 + 0.1 * step), Source("log", "a.log", 1))
    assert growth.creep() is None
