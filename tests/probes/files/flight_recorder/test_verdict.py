from __future__ import annotations

import pytest

from probes.files.flight_recorder.normal import normal
from probes.files.flight_recorder.verdict import Kind, verdict
from probes.files.flight_recorder.world import World
from tests.probes.files.flight_recorder.dumps import Job, unrecorded, world

BOTH = pytest.mark.parametrize("backend", ["nccl", "gloo"])


@BOTH
def test_where_all_calls_are_over_nothing_is_wrong(backend: str) -> None:
    found = world(backend=backend).judge()
    assert (found.kind, found.faults) == (Kind.OK, {})


@BOTH
def test_a_rank_that_never_comes_is_stuck_in_its_program(backend: str) -> None:
    job = world(backend=backend)
    job.call((0, 1, 3), "all_reduce", "0", done=False)
    assert job.judge().faults == {2: Kind.CPU}


@BOTH
def test_two_ranks_that_never_come_are_both_named(backend: str) -> None:
    job = world(8, backend)
    job.call((0, 1, 2, 4, 5, 7), "barrier", "0", sizes=(), done=False)
    assert job.judge().faults == {3: Kind.CPU, 6: Kind.CPU}


@BOTH
def test_a_hang_of_one_group_names_no_rank_of_the_others(backend: str) -> None:
    job = world(backend=backend)
    job.call((2,), "all_reduce", "2", done=False)
    assert job.judge().faults == {3: Kind.CPU}


def test_a_rank_that_never_came_to_the_first_call_of_its_group_is_found_by_the_sister_groups() -> None:
    job = Job({"0": ("default_pg", range(4)), "1": ("tp", (0, 1)), "2": ("tp", (2, 3))}, "gloo", "2.10")
    job.call(range(4), "all_reduce", "0")
    job.call((0, 1), "all_reduce", "1")
    job.call((2,), "all_reduce", "2", done=False)
    assert job.judge().faults == {3: Kind.CPU}


def test_the_chain_is_followed_over_groups_to_the_rank_that_waits_for_nobody() -> None:
    job = world(8)
    job.call((0, 1), "all_reduce", "1")
    job.call((0, 1, 2, 4, 5, 6, 7), "all_reduce", "0", done=False)
    job.call((2,), "all_reduce", "2", done=False)
    found = job.judge()
    assert found.faults == {3: Kind.CPU}


def test_a_device_that_does_not_finish_what_is_over_for_its_peers_is_stuck() -> None:
    job = world(8)
    job.call((4,), "all_reduce", "3", done=False)
    job.call((5,), "all_reduce", "3")
    job.call(range(8), "all_gather_base", "0", done=False)
    assert job.judge().faults == {4: Kind.GPU}


def test_two_stuck_devices_in_different_groups_are_both_named() -> None:
    job = world(8)
    for stuck, peer, group in ((4, 5, "3"), (6, 7, "4")):
        job.call((stuck,), "all_reduce", group, done=False)
        job.call((peer,), "all_reduce", group)
    job.call(range(8), "all_gather_base", "0", done=False)
    assert job.judge().faults == {4: Kind.GPU, 6: Kind.GPU}


def test_with_timing_the_device_that_has_not_begun_is_stuck() -> None:
    job = world()
    job.call((0, 1, 3), "all_reduce", "0", done=False, state="started")
    job.call((2,), "all_reduce", "0", done=False)
    assert job.judge().faults == {2: Kind.GPU}


def test_a_second_rank_that_stops_while_it_waits_for_the_first_is_named_too() -> None:
    job = world(8)
    job.call((0, 1, 2, 4, 5, 6, 7), "all_reduce", "0", done=False)
    job.call((0, 1, 2, 4, 5, 6), "all_reduce", "0", done=False)
    assert job.judge().faults == {3: Kind.CPU, 7: Kind.CPU}


def test_a_rank_without_dump_is_to_blame_only_when_others_wait_for_it() -> None:
    job = world()
    assert job.judge(leave_out=[3]).kind is Kind.OK
    job.call((0, 1, 2), "all_reduce", "0", done=False)
    found = job.judge(leave_out=[3])
    assert (found.kind, found.faults) == (Kind.DEAD, {3: Kind.DEAD})


def test_the_dumps_of_some_victims_are_not_needed() -> None:
    job = world(8)
    job.call((0, 1, 2, 4, 5, 6, 7), "all_reduce", "0", done=False)
    assert job.judge(leave_out=[0, 1, 6]).faults == {3: Kind.CPU}


@BOTH
def test_another_operation_under_the_same_number(backend: str) -> None:
    job = world(backend=backend)
    job.call((0, 1, 2), "all_reduce", "0", done=False)
    job.call((3,), "broadcast", "0", done=False)
    assert job.judge().faults == {3: Kind.TYPE}


@BOTH
def test_another_size_and_another_type(backend: str) -> None:
    job = world(backend=backend)
    job.call((0, 2, 3), "all_reduce", "0", done=False)
    job.call((1,), "all_reduce", "0", sizes=((4, 4),), done=False)
    assert job.judge().faults == {1: Kind.SIZE}
    job = world(backend=backend)
    job.call((0, 2, 3), "all_reduce", "0")
    job.call((1,), "all_reduce", "0", dtype="Half")
    assert job.judge().faults == {1: Kind.DTYPE}, "no message comes where the numbers of bytes fit"


def test_of_two_ranks_the_one_that_never_did_this_before_differs() -> None:
    job = world(2)
    job.call((0,), "all_reduce", "0", done=False)
    job.call((1,), "all_reduce", "0", sizes=((3, 8),), done=False)
    assert job.judge().faults == {1: Kind.SIZE}


def test_sizes_that_may_differ_are_no_mismatch() -> None:
    job = world()
    for rank, got in enumerate((4087, 4107, 4174, 4016)):
        job.call((rank,), "all_to_all", "0", sizes=((4096, 64),), out=((got, 64),))
        job.call((rank,), "_all_gather_base" if rank % 2 else "all_gather_base", "0", sizes=((2, 16),), out=((8, 16),))
    job.call(range(4), "all_reduce", "0", sizes=((32,),))
    assert job.judge().kind is Kind.OK


def test_a_shape_written_in_another_way_is_the_same_size() -> None:
    job = world()
    job.call((0, 1, 2), "all_reduce", "0", sizes=((4, 8),), done=False)
    job.call((3,), "all_reduce", "0", sizes=((32,),), done=False)
    assert job.judge().kind is Kind.UNDER_WAY


@BOTH
def test_groups_called_in_another_order_are_a_circle_and_the_odd_one_is_to_blame(backend: str) -> None:
    job = world(backend=backend)
    job.call((0,), "all_reduce", "1", done=False)
    job.call((1, 2, 3), "all_reduce", "0", done=False)
    found = job.judge()
    assert (found.kind, found.faults, found.circle) == (Kind.DEADLOCK, {0: Kind.DEADLOCK}, (0, 1))


def test_a_circle_of_calls_that_were_all_issued() -> None:
    job = world()
    job.call((0,), "all_reduce", "1", done=False)
    job.call(range(4), "all_reduce", "0", done=False)
    job.call((1,), "all_reduce", "1", done=False)
    found = job.judge()
    assert (found.kind, found.faults) == (Kind.DEADLOCK, {0: Kind.DEADLOCK})


def test_two_ranks_that_both_receive_wait_for_each_other() -> None:
    job = world()
    job.call((0,), "recv 0<-1", "1", done=False)
    job.call((1,), "recv 1<-0", "1", done=False)
    assert job.judge().faults == {0: Kind.DEADLOCK, 1: Kind.DEADLOCK}


def test_a_batch_of_sends_and_receives_has_no_order() -> None:
    job = world()
    for op in ("send 0->1", "recv 0<-1"):
        job.call((0,), op, "1", done=False)
    for op in ("send 1->0", "recv 1<-0"):
        job.call((1,), op, "1", done=False)
    assert not job.judge().faults


def test_a_pipeline_waits_for_the_stage_that_does_not_send() -> None:
    job = Job({"0": ("default_pg", range(4)), "1": ("pp", range(4))})
    job.call(range(4), "all_reduce", "0")
    for stage in range(3):
        job.call((stage + 1,), f"recv {stage + 1}<-{stage}", "1", done=False)
    assert job.judge().faults == {0: Kind.CPU}


def test_a_rank_whose_call_is_over_while_its_peers_wait_for_its_part_has_left_early() -> None:
    job = world(backend="gloo")
    job.call((1,), "all_to_all", "0", sizes=((16,),))
    job.call((0, 2, 3), "all_to_all", "0", sizes=((16,),), done=False)
    assert job.judge().faults == {1: Kind.LEFT}


def test_the_root_of_a_broadcast_may_leave_before_the_late_ones_come() -> None:
    job = world(backend="gloo")
    job.call((0,), "broadcast", "0")
    job.call((1, 2), "broadcast", "0", done=False)
    assert job.judge().faults == {3: Kind.CPU}


@pytest.mark.parametrize(
    ("state", "retired", "kind"),
    [("scheduled", False, Kind.UNDER_WAY), ("started", False, Kind.STALLED), ("scheduled", True, Kind.STALLED)],
)
def test_all_in_one_call_is_a_stall_only_where_it_shows(state: str, retired: bool, kind: Kind) -> None:
    job = world()
    job.call(range(4), "all_reduce", "0", done=False, state=state, retired=retired)
    found = job.judge()
    assert (found.kind, found.faults, [record.seq for record in found.stalled]) == (kind, {}, [4])


def test_a_call_that_something_much_later_follows_is_a_stall() -> None:
    job = world()
    job.call(range(4), "all_reduce", "0", done=False)
    job.call(range(4), "all_reduce", "1", done=False, at=60)
    assert job.judge().kind is Kind.STALLED


def test_numbers_of_records_are_each_ranks_own() -> None:
    job = world()
    job.call((0, 1, 3), "all_reduce", "0", done=False)
    for entry in job.entries[1]:
        entry["record_id"] += 10**6
    assert job.judge().faults == {2: Kind.CPU}


def test_a_call_to_which_a_peer_never_came_failed_and_was_not_finished() -> None:
    job = world(backend="gloo")
    job.call((0,), "all_reduce", "1")
    job.call((1, 2, 3), "all_reduce", "0", done=False)
    found = job.judge()
    assert (found.kind, found.faults) == (Kind.DEADLOCK, {0: Kind.DEADLOCK})


def test_calls_that_broke_off_when_a_peer_died_name_the_dead_one() -> None:
    job = world(backend="gloo")
    job.call((0, 2), "all_reduce", "0")
    job.call((3,), "all_reduce", "0", done=False)
    assert job.judge(leave_out=[1]).faults == {1: Kind.DEAD}


def pipeline_over_gloo() -> Job:
    job = world(backend="gloo")
    unrecorded(job, (0, 1, 1, 2, 2, 3))
    job.call(range(4), "all_reduce", "0")
    return job


def test_of_several_ranks_that_may_stand_in_sends_over_gloo_none_is_accused_alone() -> None:
    job = pipeline_over_gloo()
    job.call((0,), "all_reduce", "1", done=False)
    assert job.judge().faults == dict.fromkeys((1, 2, 3), Kind.UNRECORDED)


def test_a_job_without_sends_is_judged_by_its_collectives_alone() -> None:
    job = world(backend="gloo")
    job.call((0,), "all_reduce", "1", done=False)
    assert job.judge().faults == {1: Kind.CPU}


def test_where_only_one_rank_has_nothing_unfinished_it_is_the_one() -> None:
    job = pipeline_over_gloo()
    job.call((0, 1, 2), "all_reduce", "0", done=False)
    assert job.judge().faults == {3: Kind.CPU}


def test_a_neighbour_that_left_no_dump_is_what_a_stage_over_gloo_waits_for() -> None:
    job = pipeline_over_gloo()
    job.call((0,), "all_reduce", "1", done=False)
    assert job.judge(leave_out=[2]).faults == {2: Kind.DEAD}


def test_sends_that_only_the_watchdog_counts_do_not_move_a_rank_on_in_its_collectives() -> None:
    job = pipeline_over_gloo()
    job.call((0, 2, 3), "all_reduce", "0", done=False)
    status = {"last_enqueued_collective": 6, "last_started_collective": -1, "last_completed_collective": 6}
    documents = {r: job.document(r) | {"pg_status": {"0": status}} for r in range(4)}
    found = verdict(World({r: normal(f"rank_{r}", r, document) for r, document in documents.items()}))
    assert found.faults == {1: Kind.CPU}


@BOTH
def test_of_a_circle_the_one_on_a_new_way_is_to_blame_even_where_more_stand_with_it(backend: str) -> None:
    job = world(backend=backend)
    job.call(range(4), "all_reduce", "0")
    job.call((0, 1), "all_reduce", "1")
    job.call((0, 1, 3), "all_reduce", "0", done=False)  # rank 3 leaves its pair's call out
    job.call((2,), "all_reduce", "2", done=False)
    found = job.judge()
    assert (found.circle, found.faults) == ((2, 3), {3: Kind.DEADLOCK})


@pytest.mark.parametrize(
    ("left_out", "waits", "culprit"), [("send 1->2", "recv 2<-1", 1), ("recv 2<-1", "send 1->2", 2)]
)
def test_of_two_stages_the_one_that_leaves_its_side_out_is_to_blame(left_out: str, waits: str, culprit: int) -> None:
    job = Job({"0": ("default_pg", range(4)), "1": ("pp", range(4))})
    for number in range(20):
        last = number == 19
        for stage in range(4):
            calls = [f"recv {stage}<-{stage - 1}"] * (stage > 0) + [f"send {stage}->{stage + 1}"] * (stage < 3)
            for call in calls:
                if not last or call != left_out:
                    job.call((stage,), call, "1", done=not last or call != waits)
            if not last or waits not in calls:  # who waits comes no further
                job.call((stage,), "all_reduce", "0", done=not last)
    found = job.judge()
    assert (found.kind, set(found.faults)) == (Kind.DEADLOCK, {culprit})
