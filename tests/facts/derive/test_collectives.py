"""Who waits for whom, from the watchdog's lines of every version and from one file or many."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from typing import Any

from doctor.facts.derive.collectives import derive
from doctor.facts.model import Event, Fact, Scalar, Source
from doctor.facts.store import FactStore


def timeout(rank: int, seq: int | None, op: str = "ALLREDUCE", numel: int | None = None, **more: Any) -> Event:
    fields: dict[str, Scalar] = {"rank": rank, "op": op, "timeout_ms": 600000}
    if seq is not None:
        fields["seq"] = seq
    if numel is not None:
        fields["numel_in"] = numel
    return event("torch.watchdog_timeout", fields, rank=rank, **more)


def status(rank: int, completed: int, enqueued: int, guid: str = "0", seq: int | None = None, **more: Any) -> Event:
    fields: dict[str, Scalar] = {"rank": rank, "completed": completed, "enqueued": enqueued, "guid": guid}
    if seq is not None:
        fields["seq"] = seq
    return event("torch.watchdog_status", fields, rank=rank, **more)


def event(name: str, fields: dict[str, Scalar], path: str = "job.log", order: int = 50, **more: Any) -> Event:
    rank = more.get("rank", "-")
    return Event(name, Source("log", path, order, f"{name} of rank {rank}"), fields, order=order, **more)


def hang(events: Iterable[Event], *facts: Fact, entity: str = "job") -> dict[str, Any]:
    return {fact.name: fact.value for fact in derive(FactStore(facts, events)) if fact.entity == entity}


def test_rank_that_alone_stays_silent_is_the_busy_one() -> None:
    found = hang(timeout(rank, 2, numel=1) for rank in (1, 2, 3))
    assert found["hang.silent_ranks"] == (0,)
    assert found["hang.only_rank0_silent"] is True
    assert found["hang.busy_rank"] == 0
    assert found["hang.startup"] is True


def test_excerpt_without_some_ranks_still_shows_that_rank_0_is_silent() -> None:
    found = hang(timeout(rank, 2, numel=1) for rank in (1, 3, 7))
    assert found["hang.only_rank0_silent"] is True


def test_silent_rank_with_a_log_of_its_own_is_not_ignored() -> None:
    other = event("progress.step", {}, path="rank2.log", rank=2)
    assert hang([other, timeout(1, 2), timeout(3, 2)])["hang.only_rank0_silent"] is False


def test_what_the_launcher_reports_of_a_rank_is_no_word_of_its_own() -> None:
    reported = [event("torch.worker_failed", {"exitcode": -15}, rank=rank) for rank in range(4)]
    alone = hang([timeout(0, 812), *reported])
    assert "hang.silent_ranks" not in alone
    several = hang([*(timeout(rank, 812) for rank in (0, 1, 2)), *reported])
    assert several["hang.silent_ranks"] == (3,)
    assert "hang.silent_heard" not in several


def test_a_collective_late_in_training_is_no_barrier_at_the_start() -> None:
    found = hang(timeout(rank, 28956, numel=1) for rank in (1, 2))
    assert found["hang.startup"] is False
    assert found["hang.scalar"] is True


def test_log_of_one_rank_cannot_tell_who_is_absent() -> None:
    found = hang([timeout(3, 812, numel=4096, path="rank3.log")])
    assert found["hang.reporting_ranks"] == (3,)
    assert not {"hang.silent_ranks", "hang.all_ranks_report", "hang.busy_rank", "hang.seq_spread"} & found.keys()


def test_everybody_reports_when_the_world_size_is_known() -> None:
    world = Fact("config.world_size", 2)
    found = hang([timeout(0, 7, numel=99), timeout(1, 7, numel=99)], world)
    assert found["hang.all_ranks_report"] is True
    assert "hang.busy_rank" not in found


def test_everybody_reports_is_not_claimed_without_the_world_size() -> None:
    assert "hang.all_ranks_report" not in hang([timeout(0, 7), timeout(1, 7)])


def test_world_size_comes_from_nccl() -> None:
    complete = event("nccl.init_complete", {"nranks": 8, "comm_rank": 0}, order=1)
    found = hang([complete, *(timeout(rank, 40) for rank in range(7))])
    assert found["hang.world_size"] == 8
    assert found["hang.silent_ranks"] == (7,)


def test_ranks_in_different_operations() -> None:
    found = hang([timeout(0, 478, "BROADCAST"), timeout(1, 478, "ALLREDUCE")])
    assert found["hang.ops_differ"] is True
    assert found["hang.desync"] is True
    assert found["hang.same_seq"] is True
    assert "hang.numel_differ" not in found


def test_ranks_with_different_sizes_of_one_operation() -> None:
    assert hang([timeout(0, 9, numel=100), timeout(1, 9, numel=200)])["hang.numel_differ"] is True
    assert hang([timeout(0, 9, numel=100), timeout(1, 9, numel=100)])["hang.numel_differ"] is False


def test_different_sizes_at_different_numbers_are_no_size_mismatch() -> None:
    found = hang([timeout(0, 9, numel=100), timeout(1, 10, numel=200)])
    assert found["hang.numel_differ"] is False
    assert found["hang.seq_spread"] == 1


def test_rank_that_completed_fewer_is_behind() -> None:
    found = hang([timeout(0, 12), timeout(1, 14), status(0, 11, 12, seq=12), status(1, 13, 14, seq=14)])
    assert found["hang.completed_spread"] == 2
    assert found["hang.behind_ranks"] == (0,)


def test_rank_with_nothing_pending_is_the_one_to_look_at() -> None:
    """Several ranks are silent; the dump line of one says that it completed all it enqueued."""
    events = [timeout(0, 20), timeout(1, 20), status(2, 19, 20), status(3, 19, 19)]
    assert hang(events)["hang.busy_rank"] == 3


def test_sequence_numbers_of_different_groups_are_not_compared() -> None:
    events = [
        *(timeout(rank, 100) for rank in (0, 1, 2)),
        timeout(3, 7, "_ALLGATHER_BASE"),
        *(status(rank, 99, 100, seq=100) for rank in (0, 1, 2)),
        status(3, 6, 7, guid="12", seq=7),
    ]
    found = hang(events)
    assert found["hang.groups"] == 2
    assert found["hang.seq_spread"] == 0
    assert found["hang.ops_differ"] is False


def test_lines_without_sequence_number_still_give_operations() -> None:
    found = hang([timeout(0, None, "ALLREDUCE"), timeout(1, None, "BROADCAST")])
    assert found["hang.ops_differ"] is True
    assert not {"hang.min_seq", "hang.startup", "hang.same_seq"} & found.keys()


def test_line_printed_three_times_counts_once() -> None:
    assert hang([timeout(1, 5), timeout(1, 5, order=60), timeout(1, 5, order=70), timeout(2, 5)])["hang.timeouts"] == 2


def test_wait_for_the_id_of_a_communicator_is_a_wait_before_the_first_collective() -> None:
    events = [
        event("torch.store_get_timeout", {"rank": rank, "root": 0}, rank=rank, path=f"rank{rank}.log")
        for rank in (1, 2, 3)
    ]
    found = hang(events)
    assert (found["hang.min_seq"], found["hang.startup"], found["hang.busy_rank"]) == (0, True, 0)


def test_monitored_barrier_names_the_absent_rank() -> None:
    found = hang([event("torch.barrier_timeout", {"missing_ranks": "2, 5", "timeout_ms": 30000}, rank=0)])
    assert found["hang.busy_rank"] == 2


def test_where_the_busy_rank_says_nothing_of_training_the_rank_that_tells_of_a_save_is_believed() -> None:
    ready = event("log.last_line", {}, path="rank2.log", rank=2, phase="start", order=1)
    save = event("progress.save_started", {}, path="rank0.log", order=9, phase="save")
    waits = [timeout(0, 7, path="rank0.log", phase="save"), timeout(1, 7, path="rank1.log")]
    found = hang([ready, save, *waits])
    assert (found["hang.busy_rank"], found["hang.phase"]) == (2, "save")
    assert found["hang.busy_line"] == save.source.text
    assert hang([ready, save, *waits], entity="rank:2")["hang.awaited"] is True


def test_a_busy_rank_that_tells_of_training_is_believed_itself() -> None:
    steps = event("log.last_line", {}, path="rank2.log", rank=2, phase="training", order=4)
    waits = [timeout(0, 7, path="rank0.log", phase="save"), timeout(1, 7, path="rank1.log")]
    assert hang([steps, *waits])["hang.phase"] == "training"


def test_last_line_and_phase_of_the_busy_rank() -> None:
    last = event("log.last_line", {}, path="rank0.log", rank=0, phase="save", order=9)
    found = hang([last, timeout(1, 900, path="rank1.log"), timeout(2, 900, path="rank2.log")])
    assert (found["hang.busy_line"], found["hang.phase"]) == (last.source.text, "save")


def test_in_one_log_of_all_ranks_the_line_before_the_first_timeout_counts() -> None:
    tokenising = event("dataset.preprocess", {}, order=10, phase="load")
    found = hang([tokenising, timeout(1, 2, phase="load"), timeout(2, 2, phase="load")])
    assert (found["hang.busy_line"], found["hang.phase"]) == (tokenising.source.text, "load")


def test_send_and_receive_are_point_to_point() -> None:
    assert hang([timeout(4, 66, "RECV")])["hang.point_to_point"] is True
    assert hang([timeout(4, 66, "ALLREDUCE")])["hang.point_to_point"] is False


def test_send_on_one_stage_and_receive_on_the_next_are_no_mismatch() -> None:
    found = hang([timeout(0, 31, "SEND"), timeout(1, 33, "RECV")])
    assert (found["hang.ops_differ"], found["hang.seq_spread"], found["hang.desync"]) == (False, 0, False)


def test_runs_are_kept_apart() -> None:
    events = [timeout(0, 5, run="tp8"), timeout(1, 9, run="tp16")]
    assert hang(events, entity="run:tp8")["hang.min_seq"] == 5
    assert hang(events, entity="run:tp16")["hang.min_seq"] == 9


def test_without_timeout_there_is_no_hang() -> None:
    assert hang([status(0, 5, 5)]) == {}


def test_facts_quote_the_lines_they_come_from() -> None:
    facts = list(derive(FactStore([], [timeout(0, 478, "BROADCAST"), timeout(1, 478)])))
    differ = next(fact for fact in facts if fact.name == "hang.ops_differ")
    assert [source.text for source in differ.because] == [f"torch.watchdog_timeout of rank {rank}" for rank in (0, 1)]


def test_a_garbled_rank_is_no_rank_and_costs_no_memory() -> None:
    tracemalloc.start()
    found = hang([timeout(1, 7), timeout(2, 7), timeout(99_999_999, 7)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["hang.reporting_ranks"] == (1, 2)
    assert found["hang.silent_ranks"] == (0,)
    assert peak < 10 * 2**20


def test_a_rank_of_a_very_large_job_is_one() -> None:
    found = hang([timeout(0, 7), timeout(100_000, 7)])
    assert found["hang.reporting_ranks"] == (0, 100_000)
    assert len(found["hang.silent_ranks"]) == 99_999
