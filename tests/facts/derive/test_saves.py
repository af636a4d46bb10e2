"""What checkpoints cost."""

from __future__ import annotations

from pytest import approx

from doctor.facts.derive.saves import derive
from doctor.facts.model import Event, Fact, Source
from doctor.facts.store import FactStore


def event(name: str, order: int, time: float | None = None, **fields: object) -> Event:
    return Event(name, Source("log", "a.log", order), fields, order=order, time=time)  # type: ignore[arg-type]


def found(events: list[Event], *facts: Fact) -> dict[str, object]:
    return {fact.name: fact.value for fact in derive(FactStore([*facts], events))}


def test_a_printed_time_over_the_interval_of_the_saves() -> None:
    events = [
        event("progress.step", 1, step=100, step_time_s=2.0),
        event("progress.save_done", 2, seconds=100.0),
        event("progress.step", 3, step=200, step_time_s=2.0),
        event("progress.save_done", 4, seconds=100.0),
    ]
    assert found(events) == {"run.save_time": 100.0, "run.save_share": approx(100 / 300)}


def test_the_configured_interval_comes_first() -> None:
    events = [event("progress.step", 1, step=7, step_time_s=1.0), event("progress.save_done", 2, minutes=2.0)]
    interval = Fact("config.save_interval", 1000, "job", Source("config", "c.yaml", 1))
    assert found(events, interval) == {"run.save_time": 120.0, "run.save_share": approx(120 / 1120)}


def test_time_stamps_of_beginning_and_end() -> None:
    events = [event("progress.save_started", 1, time=10.0), event("progress.save_done", 2, time=70.0)]
    assert found(events) == {"run.save_time": 60.0}


def test_a_save_of_which_no_time_is_known_costs_nothing() -> None:
    assert found([event("progress.save_started", 1, time=10.0), event("progress.step", 2, step=1)]) == {}
