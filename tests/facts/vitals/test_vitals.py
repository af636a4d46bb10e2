"""A watched job: who is silent and what is told of it, and that healthy jobs are left alone."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from doctor.facts.model import Event, Value
from doctor.facts.vitals import Vitals
from doctor.facts.vitals import vitals as module
from tests.facts.vitals.jobs import Job, event, known, watched

Known = dict[tuple[str, str], Value]


def at_the_end(job: Job, steps: int, after: float, **config: Value) -> Known:
    for now, vitals in watched(job, steps, 10.0, after):
        last = now, vitals
    return known(list(last[1].facts(last[0])), **config)


def first(job: Job, steps: int, after: float, name: str, every: float = 2.0, **config: Value) -> float | None:
    """Seconds after the last line at which `name` is first told."""
    last = max(at for at, _ in job.events(steps))
    job.__post_init__()
    for now, vitals in watched(job, steps, every, after):
        if known(list(vitals.facts(now)), **config).get((name, "job")):
            return now - last
    return None


def test_a_hang_is_told_before_the_timeout() -> None:
    told = first(Job(hang_at=100), 100, 700, "live.stalled")
    assert told is not None and 450 <= told < 460


def test_a_short_timeout_is_waited_for_less() -> None:
    told = first(Job(step=0.2, hang_at=100), 100, 60, "live.stalled", every=0.5, timeout=20.0)
    assert told is not None and 14 <= told < 17


def test_a_checkpoint_that_hangs_is_told_sooner_where_others_were_seen() -> None:
    told = first(Job(hang_at=180, hang_in_save=True, save_every=50, save=40.0), 180, 400, "live.stalled")
    assert told is not None and 100 < told < 200
    assert first(Job(hang_at=180, hang_in_save=True), 180, 400, "live.stalled") is None


def test_what_strikes_and_when() -> None:
    facts = at_the_end(Job(hang_at=100), 100, 500)
    assert facts["live.timeout", "job"] == 600.0
    assert facts["live.timeout_set", "job"] is False
    left = facts["live.strikes_in", "job"]
    assert isinstance(left, float) and 90 <= left <= 110
    gloo = at_the_end(Job(hang_at=100), 100, 500, backend="gloo")
    assert gloo["live.timeout", "job"] == 1800.0 and gloo["live.stalled", "job"] is False


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("step", [0.5, 2.0, 10.0, 60.0])
def test_a_healthy_job_is_never_silent_for_too_long(step: float, announced: bool) -> None:
    for seed in range(3):
        job = Job(seed, step, 0.1, save_every=100, eval_every=150, announced=announced, outliers=0.02)
        for now, vitals in watched(job, 500, max(5.0, 3 * step)):
            facts = known(list(vitals.facts(now)))
            assert not facts.get(("live.stalled", "job")), now
            assert ("live.slowdown", "job") not in facts


def test_other_ranks_that_never_log_steps_are_not_silent() -> None:
    vitals = Vitals()
    for number in range(200):
        vitals.see([event("progress.step", number, step=number, step_time_s=1.0)], float(number))
        if number == 3:
            vitals.see([event("progress.loading", 1, "rank1.log", 1)], 3.0)
    facts = known(list(vitals.facts(200.0)))
    assert not facts["live.stalled", "job"]
    assert not any(name == "live.rank_silence" for name, _ in facts)


def test_a_file_without_steps_is_not_silent() -> None:
    vitals = Vitals()
    vitals.see([event("progress.loading", 1), event("progress.initializing", 2)], 0.0)
    assert [fact.name for fact in vitals.facts(1e6)] == ["live.watching"]


def test_the_end_of_a_job_and_a_failure_are_no_silence() -> None:
    for last in (event("progress.finished", 999), event("torch.cuda_oom", 999, symptom="fatal")):
        vitals = Vitals()
        for number in range(100):
            vitals.see([event("progress.step", number, step=number, step_time_s=1.0)], float(number))
        vitals.see([last], 101.0)
        assert ("live.silence", "job") not in known(list(vitals.facts(1000.0)))


def test_an_attempt_that_another_one_follows_is_over() -> None:
    vitals = Vitals()
    for run, begin in (("a0", 0.0), ("a1", 200.0)):
        for number in range(100):
            line = event("progress.step", number, f"{run}/rank0.log", step=number, step_time_s=1.0)
            vitals.see([Event(line.name, line.source, line.fields, run=run, order=number)], begin + number)
    facts = known(list(vitals.facts(300.0)))
    assert ("live.silence", "run:a0") not in facts
    assert facts["live.stalled", "run:a1"] is False
    assert known(list(vitals.facts(900.0)))["live.stalled", "run:a1"] is True


def stalled_ranks(steps: dict[int, int], seconds: float = 500.0) -> Known:
    vitals = Vitals()
    for number in range(1, max(steps.values()) + 1):
        vitals.see(
            [
                event("progress.step", number, f"rank{rank}.log", rank, step=number, step_time_s=1.0)
                for rank, last in steps.items()
                if number <= last
            ],
            float(number),
        )
    return known(list(vitals.facts(max(steps.values()) + seconds)))


def test_the_rank_that_the_others_wait_for_is_behind() -> None:
    facts = stalled_ranks({0: 100, 1: 100, 2: 99, 3: 100})
    assert facts["live.stalled", "job"] is True
    assert facts["live.behind_ranks", "job"] == (2,)


@pytest.mark.parametrize(("glued", "behind"), [("[rank2]: step 100", None), ("[rank12]: step 100", (2,))])
def test_a_line_that_ran_into_that_of_another_rank_is_not_missing(glued: str, behind: object) -> None:
    vitals = Vitals()
    for number in range(1, 101):
        lines = [event("progress.step", number, "job.log", rank, step=number, step_time_s=1.0) for rank in range(4)]
        if number == 100:
            del lines[2]
            source = replace(lines[0].source, text=f"[rank0]: step 100 loss 2.1{glued} loss 2.1")
            lines[0] = replace(lines[0], source=source)
        vitals.see(lines, float(number))
    assert known(list(vitals.facts(600.0))).get(("live.behind_ranks", "job")) == behind


def test_ranks_that_stopped_at_one_step_tell_nobody() -> None:
    assert ("live.behind_ranks", "job") not in stalled_ranks({0: 100, 1: 100, 2: 100, 3: 100})
    assert ("live.behind_ranks", "job") not in stalled_ranks({0: 100, 1: 99, 2: 99, 3: 99})


def test_a_rank_that_prints_no_more_while_others_go_on() -> None:
    facts = stalled_ranks({0: 700, 1: 700, 2: 150, 3: 700}, seconds=1.0)
    assert facts["live.rank_silence", "rank:2"] == 551.0
    assert facts["live.stalled", "job"] is False
    assert not any(name == "live.rank_silence" for name, _ in stalled_ranks({0: 300, 1: 295}, seconds=1.0))


def timed(
    slow: dict[int, float],
    field: str = "data_time_s",
    ranks: int = 4,
    steps: int = 39,
    since: int = 0,
    late: dict[int, float] | None = None,
) -> Known:
    """Steps of ranks that take `slow`, and `late` from step `since` on."""
    vitals = Vitals()
    for number in range(1, steps + 1):
        for rank in range(ranks):
            own = (late or {}).get(rank, slow.get(rank, 1.0)) if since and number > since else slow.get(rank, 1.0)
            fields: dict[str, Value] = {"step": number, "step_time_s": 2.0, field: own * (1 + 0.01 * (number % 3))}
            vitals.see([event("progress.step", number, f"rank{rank}.log", rank, **fields)], 2.0 * number)
    return known(list(vitals.facts(80.0)))


def test_the_rank_that_waits_for_its_data() -> None:
    facts = timed({0: 0.1, 1: 0.1, 2: 1.2, 3: 0.11})
    assert facts["live.slow_rank", "rank:2"] is True
    assert facts["live.slow_rank_of", "rank:2"] == "waiting for data"


@pytest.mark.parametrize("times", [{}, {0: 0.10, 1: 0.10, 2: 0.13, 3: 0.1}, {0: 0.1, 1: 0.9, 2: 1.2, 3: 0.1}])
def test_ranks_that_do_not_differ_by_much_or_differ_all(times: dict[int, float]) -> None:
    assert not any(name == "live.slow_rank" for name, _ in timed(times))


def test_of_two_ranks_none_is_the_usual_one() -> None:
    assert not any(name.startswith("live.slow") for name, _ in timed({0: 0.1, 1: 1.5}, ranks=2))
    facts = timed({0: 0.1, 1: 1.5}, ranks=2, steps=70)
    assert {where for name, where in facts if name == "live.slow_of_two"} == {"rank:1"}
    assert facts["live.slow_rank_of", "rank:1"] == "waiting for data"
    assert not any(name == "live.slow_rank" for name, _ in facts)


@pytest.mark.parametrize("field", ["data_time_s", "step_time_s"])
def test_two_ranks_that_differ_by_little_or_for_a_while(field: str) -> None:
    assert not any(name == "live.slow_of_two" for name, _ in timed({0: 1.0, 1: 1.3}, field, ranks=2, steps=100))
    recent = timed({0: 1.0, 1: 1.0}, field, ranks=2, steps=100, since=60, late={1: 1.9})
    assert not any(name == "live.slow_of_two" for name, _ in recent)
    long = timed({0: 1.0, 1: 1.0}, field, ranks=2, steps=130, since=60, late={1: 1.9})
    assert long["live.slow_of_two", "rank:1"] is True


def test_waiting_for_data_that_costs_two_ranks_nothing() -> None:
    assert not any(name == "live.slow_of_two" for name, _ in timed({0: 0.001, 1: 0.05}, ranks=2, steps=100))


def test_memory_that_creeps_on_one_rank_and_when_it_is_full() -> None:
    vitals = Vitals()
    for number in range(1, 200):
        for rank in range(4):
            used = 20 * 1024**3 + (number * 2**25 if rank == 2 else 0)
            fields: dict[str, Value] = {
                "step": number,
                "step_time_s": 2.0,
                "memory": used,
                "memory_percent": used / 8e8,
            }
            vitals.see([event("progress.step", number, f"rank{rank}.log", rank, **fields)], 2.0 * number)
    facts = known(list(vitals.facts(400.0)))
    assert [where for name, where in facts if name == "live.memory_creep"] == ["rank:2"]
    steps, seconds = facts["live.memory_steps_left", "rank:2"], facts["live.memory_time_left", "rank:2"]
    assert steps == int((8e10 - (20 * 1024**3 + 199 * 2**25)) / 2**25)
    assert isinstance(steps, int) and isinstance(seconds, float) and abs(seconds - 2.0 * steps) < 4


def test_logs_beyond_the_bound_are_forgotten_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STREAMS", 10)
    vitals = Vitals()
    for number in range(50):
        vitals.see([event("progress.step", 1, f"{number}.log", number, step=1)], float(number))
    assert len(vitals._streams) == 10


def test_a_checkpoint_is_timed() -> None:
    vitals = Vitals()
    for number in range(50):
        vitals.see([event("progress.step", number, step=number, step_time_s=1.0)], float(number))
    vitals.see([event("progress.save_started", 51)], 50.0)
    vitals.see([event("progress.save_done", 52)], 470.0)
    facts = known(list(vitals.facts(471.0)))
    assert facts["live.save_time", "job"] == 420.0
    assert facts["live.save_share", "job"] == 0.7


def played(vitals: Vitals, steps: range, slow: float, own: str = "data_time_s") -> list[bool]:
    """Four ranks, the data of rank 2 takes `slow`; whether something sudden was told after each step."""
    told = []
    for number in steps:
        for rank in range(4):
            fields: dict[str, Value] = {"step": number, "step_time_s": 0.5}
            if own:
                fields[own] = slow if rank == 2 else 0.001
            vitals.see([event("progress.step", number, f"rank{rank}.log", rank, **fields)], 0.5 * number)
        told.append(vitals.sudden())
    return told


def test_a_rank_that_becomes_far_slower_is_judged_at_once_and_once() -> None:
    vitals = Vitals()
    assert not any(played(vitals, range(1, 60), 0.001))
    assert played(vitals, range(60, 68), 0.4) == [False, False, False, True, False, False, False, False]
    facts = known(list(vitals.facts(34.0)))
    assert facts["live.slow_rank", "rank:2"] is True
    assert facts["live.slow_rank_of", "rank:2"] == "waiting for data"


def test_times_of_whole_steps_do_not_tell_who_is_slow() -> None:
    for own, alike in (("", True), ("data_time_s", None)):
        vitals = Vitals()
        played(vitals, range(1, 60), 0.001, own)
        assert known(list(vitals.facts(30.0))).get(("live.lockstep", "job")) is alike


def test_ranks_whose_own_times_vary_from_step_to_step_are_no_stragglers() -> None:
    rng = random.Random(4)
    vitals = Vitals()
    for number in range(1, 300):
        for rank in range(3):
            own = rng.lognormvariate(0, 0.3)
            vitals.see([event("progress.step", number, f"rank{rank}.log", rank, step=number, step_time_s=own)], number)
        assert not any(fact.name == "live.slow_rank" for fact in vitals.facts(float(number)))
