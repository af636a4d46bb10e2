from __future__ import annotations

import pytest

from doctor.facts.derive.progress import derive, is_training_bar, seconds_of
from doctor.facts.model import Event, Fact, Value
from tests.facts.derive.speed_lines import line, store_of, values


def steps(*seconds: float) -> list[Event]:
    return [line("progress.step", 2 * i, step=10 * i, step_time_s=s) for i, s in enumerate(seconds)]


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"step_time_ms": 2500.0}, 2.5),
        ({"step_time": 412.0, "unit": "ms"}, 0.412),
        ({"step_time": 1.9, "unit": "s"}, 1.9),
        ({"steps_per_s": 0.5}, 2.0),
        ({"step_time_text": "13.2K"}, 13.2),
        ({"steps_per_s": 0.0}, None),
        ({"step_time_s": float("nan")}, None),
        ({}, None),
    ],
)
def test_every_way_of_saying_the_time_of_a_step_is_understood(fields: dict[str, Value], seconds: float | None) -> None:
    assert seconds_of(line("progress.step", **fields)) == (pytest.approx(seconds) if seconds else None)


@pytest.mark.parametrize(
    ("label", "training"),
    [("", True), ("Epoch 3", True), ("(TaskRunner pid=9) Training Progress", True), ("Loading checkpoint shards", False),
     ("Map (num_proc=16)", False), ("Evaluating", False), ("Generating train split", False),
     ("1|10|Loss: 2.3", True), ("val_loss: 0.3", False)],
)  # fmt: skip
def test_only_bars_of_the_training_loop_count(label: str, training: bool) -> None:
    assert is_training_bar(line("progress.bar", label=label)) is training


def test_the_first_step_is_warm_up() -> None:
    assert values([*derive(store_of(*steps(60.0, 2.0, 2.0, 2.2, 2.0)))])["run.step_time"] == 2.0


def test_spikes_that_follow_saves_are_told_from_others() -> None:
    times = [2.0, 2.0, 2.0, 9.0, 2.0, 2.0, 9.0, 2.0, 2.0, 9.0]
    saves = [line("progress.save_started", 2 * i - 1) for i in (3, 6, 9)]
    found = values([*derive(store_of(*steps(*times), *saves))])
    assert (found["run.spikes"], found["run.spike_period"], found["run.spike_after_save"]) == (3, 30, 1.0)
    assert found["run.spike_seconds"] == pytest.approx(7.0)


def test_a_run_that_is_merely_noisy_has_no_spikes() -> None:
    found = values([*derive(store_of(*steps(2.0, 2.1, 2.0, 2.4, 1.9, 2.0)))])
    assert found["run.spikes"] == 0
    assert "run.spike_share" not in found


def test_growth_from_step_to_step_shows_as_a_trend() -> None:
    found = values([*derive(store_of(*steps(2.0, 2.0, 2.1, 2.3, 2.5, 2.8, 3.0)))])
    trend = found["run.step_time_trend"]
    assert isinstance(trend, float)
    assert trend > 1.3


def test_steps_without_a_time_are_timed_by_the_clock() -> None:
    events = [
        Event("progress.step", line("x", i).source, {"step": 1 + 10 * i}, time=100.0 + 20 * i, order=i)
        for i in range(4)
    ]
    assert values([*derive(store_of(*events))])["run.step_time"] == pytest.approx(2.0)


def test_waiting_for_data_is_a_share_of_the_same_line() -> None:
    events = [line("progress.step", i, step=i, step_time_s=2.0, data_time_s=1.5) for i in range(3)]
    assert values([*derive(store_of(*events))])["run.data_share"] == pytest.approx(0.75)


def test_memory_that_falls_once_does_not_grow() -> None:
    sizes = [30, 31, 32, 31, 33]
    events = [line("progress.step", i, step=i, step_time_s=2.0, memory=size * 1e9) for i, size in enumerate(sizes)]
    found = values([*derive(store_of(*events, gpu__memory_total=66_000_000_000))])
    assert found["run.memory_growth"] == 0
    assert found["run.memory_share"] == pytest.approx(0.5)


def test_several_runs_are_kept_apart() -> None:
    events = [line("progress.step", i, run=run, path=f"{run}.log", step=i, step_time_s=s)
              for run, s in (("tp8", 3.0), ("tp4", 2.0)) for i in range(3)]  # fmt: skip
    found: list[Fact] = [fact for fact in derive(store_of(*events)) if fact.name == "run.step_time"]
    assert {fact.entity: fact.value for fact in found} == {"run:tp8": 3.0, "run:tp4": 2.0}


def test_without_progress_nothing_is_said() -> None:
    assert [*derive(store_of())] == []


def test_a_loader_that_stops_one_step_in_four_counts_by_its_time() -> None:
    pairs = [(0.15, 0.001), (0.15, 0.001), (15.0, 14.9), (0.15, 0.001)]
    events = [line("progress.step", i, step=i, step_time_s=s, data_time_s=d) for i, (s, d) in enumerate(pairs)]
    share = values([*derive(store_of(*events))])["run.data_share"]
    assert isinstance(share, float) and share > 0.9


def test_the_card_is_measured_by_what_the_job_prints_or_by_its_name() -> None:
    report = line("megatron.memory", 1, max_reserved_mb=20_480.0)
    step = line("progress.step", 2, step=1, step_time_s=2.0)
    named = values([*derive(store_of(step, report, config__gpu_model="H100 80GB"))])
    assert named["run.memory_share"] == pytest.approx(0.25)
    printed = values([*derive(store_of(step, report, line("gpu.capacity", 0, capacity=40 * 1024**3)))])
    assert printed["run.memory_share"] == pytest.approx(0.5)


def test_a_snapshot_of_a_busy_card_stands_in_and_of_an_idle_one_does_not() -> None:
    step = line("progress.step", 2, step=1, step_time_s=2.0)
    facts = {"gpu__memory_total": 80_000, "gpu__memory_used": 20_000}
    assert values([*derive(store_of(step, **facts, gpu__utilization=0.9))])["run.memory_share"] == pytest.approx(0.25)
    assert "run.memory_share" not in values([*derive(store_of(step, **facts, gpu__utilization=0.0))])
