"""What one log tells of how its run fares."""

from __future__ import annotations

import random
from math import nan

import pytest
from pytest import approx

from doctor.facts.model import Value
from doctor.facts.vitals.trends import Trends
from tests.facts.vitals.jobs import event


def seen(*rows: tuple[str, dict[str, Value]]) -> Trends:
    trends = Trends()
    for line, (name, fields) in enumerate(rows, 1):
        trends.see(event(name, line, **fields))
    return trends


def step(**fields: Value) -> tuple[str, dict[str, Value]]:
    return "progress.step", fields


def slower(trends: Trends) -> tuple[str, float] | None:
    told = trends.slower()
    return (told[0], ratio) if told is not None and (ratio := told[1].ratio) is not None else None


def test_steps_that_take_half_as_long_again() -> None:
    told = slower(seen(*[step(step_time_s=2.0)] * 60, *[step(step_time_s=3.0)] * 20))
    assert told == ("step time", approx(1.5))


def test_a_rate_is_less_dependent_on_the_length_of_the_batch_than_the_time() -> None:
    longer = [step(step_time_s=4.0, tokens_per_s_gpu=7000.0)] * 40
    assert slower(seen(*[step(step_time_s=2.0, tokens_per_s_gpu=7000.0)] * 60, *longer)) is None
    worse = [step(step_time_s=3.0, tokens_per_s_gpu=4500.0)] * 40
    told = slower(seen(*[step(step_time_s=2.0, tokens_per_s_gpu=7000.0)] * 60, *worse))
    assert told == ("tokens_per_s_gpu", approx(7000 / 4500))


@pytest.mark.parametrize("field", ["mfu_percent", "tflops", "samples_per_s"])
def test_a_drop_of_what_is_printed_of_the_speed(field: str) -> None:
    told = slower(seen(*[step(**{field: 40.0})] * 60, *[step(**{field: 30.0})] * 20))
    assert told == (field, approx(4 / 3))


def test_a_greater_batch_takes_longer_and_is_not_slower() -> None:
    ramp = [step(step_time_s=2.0 * size, global_batch=256.0 * size) for size in (1, 2, 3) for _ in range(50)]
    assert slower(seen(*ramp)) is None


def gradients(spikes: set[int], count: int = 200, after: int = 0) -> Trends:
    rng = random.Random(3)
    norms = [rng.lognormvariate(0, 0.3) * (20 if number in spikes else 1) for number in range(count)]
    return seen(*(step(grad_norm=norm) for norm in norms), *[step(grad_norm=1.0)] * after)


def test_spikes_of_the_gradient_norm() -> None:
    found = gradients({150, 160, 170}).spiking()
    assert [number - 1 for number, _, _ in found] == [150, 160, 170]
    assert all(ratio > 5 for _, ratio, _ in found)


def test_noise_is_no_spike_and_spikes_are_forgotten() -> None:
    assert gradients(set()).spiking() == []
    assert gradients({150, 160, 170}, after=64).spiking() == []


def test_the_first_norms_and_norms_that_are_no_numbers_are_no_spikes() -> None:
    falling = [step(grad_norm=100.0 / (number + 1)) for number in range(100)]
    assert seen(*falling).spiking() == []
    assert seen(*[step(grad_norm=1.0)] * 50, *[step(grad_norm=nan)] * 5).spiking() == []


def scales(*values: float) -> Trends:
    return seen(*(step(loss_scale=value) for value in values))


def test_a_loss_scale_that_falls_and_falls() -> None:
    fall = scales(*[65536.0] * 30, *(65536.0 / 2**halved for halved in range(1, 7))).fall
    assert fall is not None and fall[:2] == (64.0, 1024.0)


def test_the_search_for_a_scale_and_its_usual_swing_are_no_fall() -> None:
    search = [2.0**32 / 2**halved for halved in range(16)]
    assert scales(*search, *[65536.0] * 40).fall is None
    assert scales(*[65536.0, 65536.0, 32768.0, 16384.0] * 20).fall is None


def test_scales_of_two_programs_or_two_models_are_not_one_series() -> None:
    bf16_beside_engine = [step(loss_scale=1.0)] * 30 + [("numerics.overflow_skip", {"reduced": 65536.0})] * 20
    assert seen(*bf16_beside_engine, *[step(loss_scale=1.0)] * 8).fall is None
    assert scales(*[65536.0, 1.0] * 40).fall is None


def test_lines_of_overflow_alone_show_a_fall() -> None:
    halved = [("numerics.overflow_skip", {"reduced": 65536.0 / 2**power}) for power in range(10)]
    fall = seen(*[("numerics.overflow_skip", {"reduced": 65536.0})] * 20, *halved).fall
    assert fall is not None and fall[:2] == (512.0, 128.0)


def test_another_attempt_searches_for_its_scale_anew() -> None:
    trends = scales(*[2.0**power for power in range(32, 16, -1)], *[65536.0] * 40)
    trends.begin()
    for line, power in enumerate([*range(32, 16, -1), *[16] * 20], 100):
        trends.see(event("progress.step", line, loss_scale=2.0**power))
    assert trends.fall is None


def test_a_fall_that_was_made_good() -> None:
    assert scales(*[65536.0] * 30, 1024.0, *[65536.0] * 5).fall is None


def test_experts_that_become_uneven() -> None:
    for name, field in (("moe.overload", "factor"), ("moe.balance_loss", "value")):
        trends = seen(*[(name, {field: 1.2})] * 50, *[(name, {field: 1.8})] * 30)
        assert trends.experts[name].ratio == approx(1.5)
    trends = seen(*[("moe.violation", {"violation": 0.2})] * 50, *[("moe.violation", {"violation": 0.25})] * 30)
    assert trends.experts["moe.violation"].ratio is None


def test_a_bar_smooths_its_rate_and_is_not_tested() -> None:
    bars = [("progress.bar", {"step_time_s": 2.0 + number / 50}) for number in range(200)]
    assert seen(*bars).slower() is None
