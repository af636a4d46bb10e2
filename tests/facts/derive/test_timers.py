from __future__ import annotations

import pytest

from doctor.facts.derive.timers import derive
from doctor.facts.model import Event
from tests.facts.derive.speed_lines import line, store_of, values


def micro(order: int, step: float, reduced: float = 10.0) -> Event:
    return line(
        "deepspeed.microstep_timers", order, forward_ms=800.0, backward_ms=1200.0, allreduce_ms=reduced, step_ms=step
    )


def test_the_optimizer_is_weighed_against_all_micro_steps_of_a_step() -> None:
    found = values([*derive(store_of(*(micro(i, 2000.0 if i % 4 == 0 else 0.05) for i in range(1, 13))))])
    share = found["run.optimizer_share"]
    assert isinstance(share, float)
    assert 0.15 < share < 0.25
    assert found["run.optimizer_time"] == pytest.approx(2.0)


def test_micro_steps_that_only_accumulate_say_nothing_of_the_optimizer() -> None:
    assert "run.optimizer_share" not in values([*derive(store_of(micro(0, 0.06), micro(1, 0.05)))])


def test_reductions_before_the_last_micro_batch_are_counted() -> None:
    found = values([*derive(store_of(*(micro(i, 100.0 if i % 2 else 0.05, 40.0) for i in range(6))))])
    assert found["run.reduced_while_accumulating"] == 1.0


def test_the_slowest_rank_is_found_over_the_intervals() -> None:
    times = [(801.0, 803.0, 1210.0), (802.0, 801.0, 1190.0), (800.0, 802.0, 1205.0)]
    events = [line("megatron.timer_rank", 10 * i + rank, timed_rank=rank, time_ms=ms)
              for i, row in enumerate(times) for rank, ms in enumerate(row)]  # fmt: skip
    found = values([*derive(store_of(*events))])
    assert (found["run.slowest_rank"], found["run.slowest_rank_share"]) == (2, 1.0)


def test_timers_on_lines_of_their_own_weigh_the_optimizer_against_the_passes() -> None:
    events = [
        line("megatron.timer_range", 10 * i + at, timer=timer, min_ms=ms, max_ms=ms)
        for i in range(3)
        for at, (timer, ms) in enumerate([("forward-backward", 2000.0), ("optimizer", 9000.0 if i == 0 else 6000.0)])
    ]
    found = values([*derive(store_of(*events))])
    assert (found["run.optimizer_time"], found["run.optimizer_share"]) == (pytest.approx(6.0), pytest.approx(0.75))
    assert "run.optimizer_share" not in values([*derive(store_of(*events[1::2]))])


def test_the_range_over_the_ranks_is_a_ratio() -> None:
    event = line("megatron.timer_range", timer="forward-compute", min_ms=800.0, max_ms=1600.0)
    assert values([*derive(store_of(event))])["run.forward_spread"] == pytest.approx(2.0)
