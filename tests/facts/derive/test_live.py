"""What signs of decline mean for the job, watched and saved."""

from __future__ import annotations

import pytest
from pytest import approx

from doctor.facts.derive.live import derive, time_out
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore
from tests.facts.vitals.jobs import event


def found(events: list[Event], **facts: Value) -> dict[tuple[str, str], Value]:
    known = [Fact(name.replace("__", "."), value) for name, value in facts.items()]
    return {(fact.name, fact.entity): fact.value for fact in derive(FactStore(known, events))}


def steps(*seconds: float, **fields: Value) -> list[Event]:
    return [event("progress.step", n, step=n, step_time_s=s, **fields) for n, s in enumerate(seconds, 1)]


def test_a_saved_log_that_becomes_slower() -> None:
    facts = found(steps(*[2.0] * 60, *[3.0] * 40))
    assert facts["live.slowdown", "job"] == approx(1.5)
    assert facts["live.slowdown_of", "job"] == "step time"


def test_the_file_of_metrics_tells_of_the_speed_beside_a_bar_that_does_not() -> None:
    bar = [event("progress.step", n, "job.log", step=n, epoch=1.0) for n in range(1, 201)]
    rates = [*[900.0] * 60, *[500.0] * 40]
    metrics = [
        event("progress.step", n, "metrics.txt", step=n, tokens_per_s_gpu=rate) for n, rate in enumerate(rates, 1)
    ]
    assert found([*bar, *metrics])["live.slowdown", "job"] == approx(1.8)
    assert found(bar) == {}


@pytest.mark.parametrize(
    "seconds", [[2.0] * 100, [2.0] * 4, [9.0, 5.0, *[2.0] * 90], [*[2.0] * 60, 9.0, 9.0, *[2.0] * 30]]
)
def test_a_saved_log_of_even_steps(seconds: list[float]) -> None:
    assert found(steps(*seconds)) == {}


def test_a_watched_job_is_told_by_the_watch_alone() -> None:
    assert ("live.slowdown", "job") not in found(steps(*[2.0] * 60, *[3.0] * 40), live__watching=True)


def test_a_saved_log_knows_no_silence() -> None:
    assert not any(name in ("live.stalled", "live.silence") for name, _ in found(steps(*[2.0] * 60)))


@pytest.mark.parametrize(
    ("facts", "events", "seconds", "is_set"),
    [
        ({}, [], 600.0, False),
        ({"config.backend": "gloo"}, [], 1800.0, False),
        ({"config.framework": "hf"}, [], 1800.0, False),
        ({"config.framework": "torchtitan"}, [], 100.0, False),
        ({"config.framework": "torchtitan", "config.timeout": 300.0}, [], 300.0, True),
        ({"config.framework": "deepspeed", "env.DEEPSPEED_TIMEOUT": "120"}, [], 7200.0, True),
        ({"config.framework": "deepspeed", "env.DEEPSPEED_TIMEOUT": "$MINUTES"}, [], 1800.0, False),
        ({"config.framework": "hf", "env.DEEPSPEED_TIMEOUT": "120"}, [], 1800.0, False),
        ({"config.framework": "megatron"}, [], 600.0, False),
        ({"config.framework": "accelerate", "config.backend": "gloo"}, [], 1800.0, False),
        ({"config.backend": "cpu:gloo,cuda:nccl"}, [], 600.0, False),
        ({"config.timeout": 60.0, "config.backend": "gloo"}, [], 60.0, True),
        ({"config.timeout": 0.0}, [], 600.0, False),
        ({}, [event("torch.watchdog_timeout", 1, timeout_ms=1_200_000)], 1200.0, True),
        ({"config.timeout": 300.0}, [event("torch.timeout_set", 1, hours=0, minutes=1, seconds=40)], 100.0, True),
        ({}, [event("torch.timeout_set", 1, minutes=1), event("torch.timeout_set", 2, days=1, hours=2)], 93600.0, True),
    ],
)
def test_the_timeout_that_strikes(facts: dict[str, Value], events: list[Event], seconds: float, is_set: bool) -> None:
    store = FactStore([Fact(name, value, "job", Source("config")) for name, value in facts.items()], events)
    assert time_out(store)[:2] == (seconds, is_set)


def test_a_silence_within_and_beyond_what_is_allowed() -> None:
    usual = {"live__watching": True, "live__step_gap": 2.0, "live__longest_pause": 0.0, "live__silent_since": 50.0}
    assert found([], live__silence=449.0, **usual)["live.stalled", "job"] is False
    facts = found([], live__silence=460.0, **usual)
    assert facts["live.stalled", "job"] is True
    assert facts["live.strikes_in", "job"] == 140.0
    assert facts["live.strikes_at", "job"] == 650.0
    assert found([], live__silence=900.0, **usual)["live.strikes_in", "job"] == 0.0


def test_a_pause_that_the_log_announces_is_held_against_those_of_its_kind() -> None:
    usual = {"live__watching": True, "live__step_gap": 2.0, "live__longest_pause": 50.0, "live__silent_since": 50.0}
    assert found([], live__silence=200.0, **usual)["live.stalled", "job"] is False
    assert found([], live__silence=140.0, live__phase="save", **usual)["live.stalled", "job"] is False
    assert found([], live__silence=200.0, live__phase="save", **usual)["live.stalled", "job"] is True


def test_what_may_still_be_a_pause() -> None:
    usual = {"live__watching": True, "live__step_gap": 2.0, "live__longest_pause": 0.0, "live__silent_since": 50.0}
    names = ("live.may_be_pause", "live.long_pause", "live.outlived")
    for phase, silence, expected in (
        ("eval", 460.0, (True, True, False)),
        ("eval", 661.0, (True, True, True)),
        ("eval", 1801.0, (False, True, True)),
        ("", 460.0, (False, False, False)),
    ):
        facts = found([], live__silence=silence, **usual, **({"live__phase": phase} if phase else {}))
        assert tuple(facts[name, "job"] for name in names) == expected
    assert not any(name in names for name, _ in found([], live__silence=440.0, live__phase="eval", **usual))


def test_when_memory_will_be_full() -> None:
    creep = {"live__watching": True, "live__memory_creep": 1e7, "live__memory_used": 7e10}
    assert ("live.memory_steps_left", "job") not in found([], **creep)
    facts = found([], gpu__memory_total=8e10, live__step_time=3.0, **creep)
    assert facts["live.memory_steps_left", "job"] == 1000
    assert facts["live.memory_time_left", "job"] == 3000.0
    assert found([], gpu__memory_total=6e10, **creep)["live.memory_steps_left", "job"] == 0


def test_a_save_over_the_timeout() -> None:
    events = [*steps(2.0, 2.0), event("progress.save_done", 9, seconds=300.0)]
    assert found(events)["live.save_share", "job"] == 0.5
    assert found(events, config__timeout=3600.0)["live.save_share", "job"] == approx(0.083)


@pytest.mark.parametrize(("nodes", "left"), [(("node:?",), 100), (("node:n1", "node:n2"), None)])
def test_host_memory_of_the_one_node_that_was_looked_at_is_the_limit(nodes: tuple[str, ...], left: int | None) -> None:
    known = [Fact("node.memory_total", 64e9, node) for node in nodes]
    known += [Fact("live.watching", True), Fact("live.host_memory_creep", 6e8, "rank:2")]
    known += [Fact("live.host_memory_used", 4e9, "rank:2")]
    facts = {(fact.name, fact.entity): fact.value for fact in derive(FactStore(known))}
    assert facts.get(("live.host_memory_steps_left", "rank:2")) == left
