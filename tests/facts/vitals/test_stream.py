"""One log that numbers its steps in two ways: the better one is believed, and the other is still a sign of life."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.facts.vitals.stream import Stream
from tests.facts.vitals.jobs import event


def stream() -> Stream:
    return Stream("job", "job.log", None, 0.0)


def test_a_bar_that_counts_anew_in_each_epoch_does_not_set_the_run_back() -> None:
    log = stream()
    for n in range(1, 200):
        log.take(event("progress.step", 2 * n, step=n, epoch=1.0 + n // 50, step_time_s=2.0), 2.0 * n)
        log.take(event("progress.bar", 2 * n + 1, label="Epoch 1", step=n % 50, total=50), 2.0 * n)
    assert log.step == 199
    assert not log.over
    assert len(log.trends.pace.recent) > 8
    assert log.pulse.beats == 398


def test_micro_steps_of_the_script_and_global_steps_of_the_engine() -> None:
    log = stream()
    for n in range(1, 100):
        log.take(event("progress.loss_line", 2 * n, step=4 * n), 2.0 * n)
        log.take(event("progress.rate", 2 * n + 1, step=n, samples_per_s=8.0), 2.0 * n)
    assert log.step == 396


def test_what_alone_counts_is_believed() -> None:
    log = stream()
    for n in range(1, 10):
        log.take(event("progress.rate", n, step=10 * n, samples_per_s=8.0), 2.0 * n)
    assert log.step == 90
    log.take(event("progress.bar", 20, label="", step=3, total=50), 30.0)
    assert log.step == 3


def by_clock(*seconds: float, stamped: bool = True, pause: bool = False) -> Stream:
    """A log of lines that number the steps and tell no time, each of which took so many seconds."""
    log, now = stream(), 100.0
    for n, taken in enumerate(seconds, 1):
        now += taken
        if pause and n % 10 == 0:
            log.take(event("progress.eval_started", n), now)
            now += 300
            log.take(event("progress.eval_done", n), now)
        line = event("progress.loss_line", n, step=n)
        log.take(replace(line, time=now) if stamped else line, now)
    return log


@pytest.mark.parametrize("stamped", [True, False])
def test_a_log_without_times_becomes_slower_by_the_clock(stamped: bool) -> None:
    slower = by_clock(*[6.0] * 60, *[9.0] * 30, stamped=stamped).trends.slower()
    assert slower is not None
    assert slower[0] == "step time" and slower[1].ratio == pytest.approx(1.5)


def test_pauses_that_are_announced_are_no_slow_steps() -> None:
    slower = by_clock(*[6.0] * 120, pause=True).trends.slower()
    assert slower is not None and slower[1].ratio is None
    assert slower[1].now == pytest.approx(6.0)


def test_what_the_lines_tell_goes_before_the_clock() -> None:
    log = by_clock(*[6.0] * 60, *[9.0] * 30)
    log.take(event("progress.step", 100, step=100, step_time_s=2.0), 2000.0)
    assert log.trends.slower() is None


def test_steps_that_are_done_again_are_not_counted() -> None:
    log = stream()
    for n, step in enumerate([1, 2, 3, 4, 2, 3, 4, 5, 6] * 3):
        log.take(replace(event("progress.loss_line", n, step=step), time=10.0 * n), 10.0 * n)
    assert all(seconds == 10.0 for seconds in log.trends.clock.reference)


@pytest.mark.parametrize(("each", "told"), [(0.25, False), (0.03, True)])
def test_a_printed_time_that_is_a_small_part_of_the_step_says_little_of_it(each: float, told: bool) -> None:
    log, now = stream(), 100.0
    for n in range(1, 4000):
        now += each
        printed = 0.018 if n < 2000 else 0.026
        log.take(replace(event("progress.step", n, step=n, step_time_s=printed), time=now), now)
    slower = log.trends.slower()
    assert slower is not None
    assert (slower[1].ratio is not None) == told
