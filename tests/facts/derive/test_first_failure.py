"""The first failure is found although clocks differ and most lines are consequences."""

from __future__ import annotations

from doctor.facts.derive.first_failure import clock_offsets, derive, first_failure
from doctor.facts.model import Event, Source, Value
from doctor.facts.store import FactStore


def failure(
    name: str, rank: int, time: float | None = None, order: int = 0, host: str | None = None, **fields: Value
) -> Event:
    step = fields.pop("step", None)
    return Event(
        name,
        Source("log", f"rank{rank}.log", order + 1, f"{name} on {rank}"),
        {"symptom": "fatal", **fields},
        rank=rank,
        time=time,
        order=order,
        host=host or f"host{rank}",
        step=step if isinstance(step, int) else None,
    )


def test_nothing_failed() -> None:
    assert first_failure([Event("progress.step", Source("log", "a", 1, "step 1"))]) is None


def test_what_follows_from_another_failure_does_not_count() -> None:
    killed = failure("sigterm", 1, 10.0, follows=True)
    assert first_failure([killed, failure("oom", 3, 20.0)]) is not killed


def test_a_consequence_is_better_than_nothing() -> None:
    killed = failure("sigterm", 1, 10.0, follows=True)
    assert first_failure([killed]) is killed


def test_the_order_of_a_file_counts_more_than_its_times() -> None:
    first = failure("oom", 3, 20.0, order=5, host="n1")
    assert first_failure([failure("abort", 3, 19.0, order=9, host="n1"), first]) is first


def test_times_of_one_host_decide() -> None:
    late, early = failure("oom", 0, 20.0, host="n1"), failure("oom", 7, 19.5, host="n1")
    assert first_failure([late, early]) is early


def test_small_differences_between_hosts_are_not_trusted() -> None:
    later_step = failure("oom", 0, 100.0, step=12)
    earlier_step = failure("oom", 9, 103.0, step=11)
    assert first_failure([later_step, earlier_step]) is earlier_step


def test_large_differences_between_hosts_are() -> None:
    assert (first := first_failure([failure("oom", 0, 100.0), failure("oom", 9, 900.0)])) and first.rank == 0


def test_skewed_clocks_are_set_right_by_a_shared_collective() -> None:
    # Both hosts began to wait for the same collective; the clock of b is 300 s ahead.
    waits = [
        failure("timeout", 0, 1000.0, order=9, host="a", seq=7, op="ALLREDUCE", ran_ms=600_000),
        failure("timeout", 8, 1300.0, order=9, host="b", seq=7, op="ALLREDUCE", ran_ms=600_000),
    ]
    broke = [failure("oom", 1, 900.0, host="a"), failure("oom", 9, 1100.0, host="b")]
    assert clock_offsets(waits) == {"a": 0.0, "b": 300.0}
    assert (first := first_failure([*waits, *broke])) and first.rank == 9


def test_without_times_what_broke_comes_before_what_waited() -> None:
    waited, broke = failure("timeout", 0, seq=5), failure("oom", 3)
    assert first_failure([waited, broke]) is broke


def test_derived_facts_name_their_line() -> None:
    event = failure("oom", 3, 20.0)
    facts = {fact.name: fact for fact in derive(FactStore(events=[event]))}
    assert facts["failure.first_rank"].value == 3
    assert facts["failure.first_event"].value == "oom"
    assert facts["failure.first_line"].because == (event.source,)


def test_a_traceback_that_ends_in_a_consequence_is_one() -> None:
    closed = Event("gloo.peer_closed", Source("log", "rank1.log", 1, "closed"), {"follows": True}, rank=1)
    raised = Event("python.traceback", closed.source, {"symptom": "fatal"}, rank=1)
    own = failure("python.traceback", 2)
    assert first_failure([closed, raised, own]) is own
