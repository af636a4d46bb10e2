"""ncclras, as text and as JSON."""

from __future__ import annotations

import json

from tests.probes.files.node_dump.dumps import kinds, node, survives

SUMMARY = """\
Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING      {state}

"""
BEHIND = (
    SUMMARY.format(state="MISMATCH")
    + """\
Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  30 ranks have launched up to operation 6650
  2 ranks have launched up to operation 6649
  Rank 2 -- GPU 2 managed by process 483074 on node 10.0.0.10
  Rank 7 -- GPU 7 managed by process 483079 on node 10.0.0.10

"""
)
DEAD = (
    SUMMARY.format(state="INCOMPLETE")
    + """\
Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487984 on node 10.0.0.13 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21

Warnings
========

TIMEOUT
  Encountered 2 communication timeouts while gathering communicator data

"""
)
FAULTY = (
    SUMMARY.format(state="ERROR")
    + """\
Errors
======

#0-0 (cf264af53edbe986) ERROR
  Asynchronous error on 1 rank
  Rank 4 reported Remote process exited or there was a network error -- GPU 4 managed by process 99 on node 10.0.0.11

"""
)


def document(**changes: object) -> str:
    ranks = [
        {
            "rank": rank,
            "host": "10.0.0.10",
            "pid": 100 + rank,
            "cuda_dev": rank,
            "nvml_dev": rank,
            "status": {"init_state": 0, "async_error": 0, "abort_flag": False},
            "collective_counts": {"AllReduce": 50, "AllGather": 7},
        }
        for rank in range(4)
    ]
    comm = {"hash": "0xae94423cfbb2ef4a", "size": 4, "ranks": ranks, "missing_ranks": []} | changes
    return json.dumps({"nccl_version": "2.29.1", "communicators_count": 1, "communicators": [comm]}, indent=2)


def ranks_of(text: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(text)["communicators"][0]["ranks"]
    return found


def test_ranks_that_launched_fewer_operations_are_behind() -> None:
    assert node(BEHIND)["ras.behind"] == (
        "rank 2 on 10.0.0.10, GPU 2: AllReduce 6649 of 6650",
        "rank 7 on 10.0.0.10, GPU 7: AllReduce 6649 of 6650",
    )
    assert "ras.unchanged" not in node(BEHIND)


def test_two_answers_tell_a_rank_that_stands_from_one_that_is_late() -> None:
    assert node(BEHIND + BEHIND)["ras.unchanged"] is True
    later = BEHIND.replace("6649", "6700").replace("6650", "6701")
    assert node(BEHIND + later)["ras.unchanged"] is False


def test_a_dead_process_and_its_ranks() -> None:
    found = node(DEAD)
    assert found["ras.dead"] == ("process 3487984 on 10.0.0.13, GPU 5",)
    assert found["ras.missing_ranks"] == (21,)


def test_an_error_of_a_rank() -> None:
    told = "rank 4 on 10.0.0.11, GPU 4: Remote process exited or there was a network error"
    assert node(FAULTY)["ras.errors"] == (told,)


def test_a_job_that_is_well() -> None:
    assert node(SUMMARY.format(state="OK")) == {"ras.well": True}
    assert node(document()) == {"ras.well": True}


def test_json_has_all_counts_and_what_is_behind_is_worked_out() -> None:
    ranks = ranks_of(document())
    ranks[3]["collective_counts"] = {"AllReduce": 48, "AllGather": 7}
    assert node(document(ranks=ranks))["ras.behind"] == ("rank 3 on 10.0.0.10, GPU 3: AllReduce 48 of 50",)


def test_json_of_ranks_that_do_not_answer() -> None:
    gone = {"rank": 3, "host": "10.0.0.12", "nvml_dev": 1, "status": {"unresponsive": True, "considered_dead": False}}
    found = node(document(missing_ranks=[gone]))
    assert found["ras.unresponsive"] == ("rank 3 on 10.0.0.12, GPU 1",)
    assert found["ras.missing_ranks"] == (3,)
    dead = gone | {"status": {"unresponsive": True, "considered_dead": True}}
    assert node(document(missing_ranks=[dead]))["ras.dead"] == ("rank 3 on 10.0.0.12, GPU 1",)


def test_monitoring_tells_when_a_process_died() -> None:
    line = "[2026-01-19 13:07:07] PEER_DEAD: Process 1524345 on node 10.0.0.10 managing GPU 1\n"
    assert node(line)["ras.dead"] == ("Process 1524345 on node 10.0.0.10 managing GPU 1",)


def test_another_text_is_none() -> None:
    assert kinds("Job summary\nall is well, Communicators... are fine\n") == ()


def test_damage() -> None:
    for text in (BEHIND, DEAD, FAULTY, document()):
        survives(text)
