"""One log that numbers its steps in two ways: the better one is believed, and the other is still a sign of life."""

from __future__ import annotations

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
