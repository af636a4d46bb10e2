from __future__ import annotations

import pytest

from doctor.facts.derive.samples import blocks, derive
from tests.facts.derive.speed_lines import line, store_of, values


def test_many_steps_come_to_twenty_medians_of_steps_in_a_row() -> None:
    found = blocks([float(n) for n in range(1000)])
    assert len(found) == 20
    assert found[0] == 24.5 and found[-1] == 974.5


def test_few_steps_stay_as_they_are() -> None:
    assert blocks([3.0, 1.0, 2.0]) == (3.0, 1.0, 2.0)
    assert blocks([]) == ()


def test_a_run_tells_its_times_and_rates_without_the_warm_up() -> None:
    lines = [
        line("progress.step", n, step=n, step_time_s=2.0 if n else 60.0, mfu_percent=40.0 if n else 1.0)
        for n in range(8)
    ]
    found = values([*derive(store_of(*lines))])
    assert found["run.step_time_blocks"] == (2.0,) * 7
    assert found["run.mfu_blocks"] == pytest.approx((0.4,) * 7)
    assert found["run.last_step"] == 7


def test_the_batch_is_the_last_that_the_lines_state() -> None:
    lines = [line("progress.step", n, step=n, step_time_s=2.0, global_batch=16 * n) for n in range(1, 4)]
    assert values([*derive(store_of(*lines))])["run.global_batch"] == 48
