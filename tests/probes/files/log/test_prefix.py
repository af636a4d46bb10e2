"""Rank, local rank and host are read from what launchers put before lines, from paths and from contents."""

from __future__ import annotations

import time

import pytest

from probes.files.log import read_texts
from probes.files.log.place import place
from probes.files.log.prefix import Style, split, style_of
from tests.probes.files.log.specs import ALL
from tests.probes.files.log.support import events, one

OOM = "CUDA out of memory. Tried to allocate 1.00 GiB"


@pytest.mark.parametrize(
    ("line", "rank", "local", "host"),
    [
        ("[rank3]: {}", 3, None, None),
        ("[rank3]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] {}", 3, None, None),
        ("[rank3]:[rank3]: {}", 3, None, None),
        ("[Rank 3] {}", 3, None, None),
        ("[rank: 3] {}", 3, None, None),
        ("Rank 3: {}", 3, None, None),
        ("[default5]:{}", None, 5, None),
        ("[default5]:[rank13]: {}", 13, 5, None),
        ("[1,3]<stdout>:{}", 3, None, None),
        ("[1,3]<stderr>: {}", 3, None, None),
        ("[prterun-node1-77@1,3]<stdout>: {}", 3, None, None),
        ("(TaskRunner pid=123, ip=10.0.0.3) {}", None, None, "10.0.0.3"),
        ("(VllmWorker rank=2 pid=77) {}", 2, None, None),
        ("(Worker_TP1 pid=501) {}", 1, None, None),
        ("[pod/train-worker-3/pytorch] {}", None, None, "train-worker-3"),
        ("node7:4152:4206 [6] include/alloc.h:48 NCCL WARN {}", None, 6, "node7"),
        ("[2025-04-06 22:31:56] node7:4152:4206 [6] include/alloc.h:48 NCCL WARN {}", None, 6, "node7"),
        ("Sep 11 02:11:40 gpu-17 kernel: {}", None, None, "gpu-17"),
        ("2026-09-11T02:11:40+0000 gpu-17 kernel: {}", None, None, "gpu-17"),
        ("[E ProcessGroupNCCL.cpp:587] [Rank 14] {}", 14, None, None),
        ("[E x.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 9] {}", 9, None, None),
        ("[E x.cpp:1] [PG ID 2 PG GUID 5(mesh_tp) Rank 1] {}", None, None, None),
        ("plain {}", None, None, None),
        ("12: {}", None, None, None),
    ],
)
def test_labels(line: str, rank: int | None, local: int | None, host: str | None) -> None:
    event = one(line.format(OOM))
    assert (event.rank, event.local_rank, event.host) == (rank, local, host)


def test_srun_labels_are_told_by_all_lines_having_one() -> None:
    text = "".join(f"{rank:2d}: step {n}\n" for n in range(5) for rank in (0, 3, 11)) + f"11: {OOM}\n"
    assert one(text).rank == 11


def test_pdsh_labels() -> None:
    text = "".join(f"worker{n % 2}: loading shard\n" for n in range(6)) + f"worker1: {OOM}\n"
    assert one(text).host == "worker1"


def test_a_long_word_without_a_label_costs_no_more_than_its_length() -> None:
    """The host's digit was tried at each digit of the word: 40 ms for a line."""
    begun = time.process_time()
    for _ in range(50):
        assert split("v" + "1.1" * 1300, Style.PDSH).host is None
    assert time.process_time() - begun < 0.5


def test_a_numbered_list_is_no_label() -> None:
    assert style_of([f"{n}: item" for n in range(40)]) is Style.NONE
    assert style_of(["INFO: one", "INFO: two", "INFO: three"]) is Style.NONE


def test_stern_and_compose_labels() -> None:
    assert style_of(["train-worker-0 pytorch loading"] * 4 + ["train-worker-1 pytorch loading"] * 4) is Style.STERN
    assert split("worker-1  | hello", Style.COMPOSE).host == "worker-1"


def test_dates_are_no_pods() -> None:
    assert (
        style_of([f"2026-11-30 03:00:{second:02d},101 | INFO | trainer | step" for second in range(40)]) is Style.NONE
    )


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("2026-11-30 03:00:10,101 | ERROR | trainer | rank 3 | {}", 3),
        ('{"rank": 3, "step": 12, "error": "{}"}', 3),
        ("2026-11-30 03:00:10,101 | ERROR | trainer | waits for rank 3: {}", None),
        ('{"ranks": 3, "error": "{}"}', None),
    ],
)
def test_a_column_or_a_key_that_names_the_rank(line: str, rank: int | None) -> None:
    assert one(line.replace("{}", OOM)).rank == rank


@pytest.mark.parametrize(
    ("name", "rank", "local", "host"),
    [
        ("rank_3.log", 3, None, None),
        ("logs/rank3.log.gz", 3, None, None),
        ("job/global_rank_12.out", 12, None, None),
        ("local_rank_2.log", None, 2, None),
        ("attempt_0/3/stderr.log", None, 3, None),
        ("node2/attempt_1/3/stderr.log", None, 3, "node2"),
        ("node1.log", None, None, "node1"),
        ("node1/rank8.log", 8, None, "node1"),
        ("node-2_local-rank-1.log", None, 1, "node-2"),
        ("llama-sft-worker-3.log", None, None, "llama-sft-worker-3"),
        ("task_7.log", 7, None, None),
        ("job.log", None, None, None),
        ("frankrank.log", None, None, None),
        ("slurm-5500112.out", None, None, None),
    ],
)
def test_paths(name: str, rank: int | None, local: int | None, host: str | None) -> None:
    found = place(name)
    assert (found.rank, found.local_rank, found.host) == (rank, local, host)


def test_the_label_of_a_line_counts_more_than_the_path() -> None:
    assert one(f"[rank5]: {OOM}", name="rank_3.log").rank == 5
    assert one(OOM, name="rank_3.log").rank == 3


def test_torchrun_folders_of_one_node_are_ranks() -> None:
    names = [f"attempt_0/{n}/stderr.log" for n in range(2)]
    reading = read_texts([(name, OOM.encode()) for name in names], ALL)
    assert [event.rank for event in reading.events if event.name == "oom"] == [0, 1]


def test_torchrun_folders_of_two_nodes_are_not() -> None:
    names = [f"node{k}/attempt_0/{n}/stderr.log" for k in range(2) for n in range(2)]
    reading = read_texts([(name, OOM.encode()) for name in names], ALL)
    assert {event.rank for event in reading.events} == {None}


def test_nccl_tells_the_rank_of_a_process() -> None:
    init = "n1:{pid}:99 [{dev}] NCCL INFO comm 0x55aa rank {rank} nranks 8 cudaDev {dev} busId 1000 - Init COMPLETE\n"
    text = init.format(pid=41, rank=4, dev=0) + init.format(pid=42, rank=5, dev=1)
    event = one(text + f"n1:42:77 [1] include/alloc.h:48 NCCL WARN {OOM}\n")
    assert (event.rank, event.host, event.local_rank) == (5, "n1", 1)


def test_of_several_communicators_the_largest_is_the_world() -> None:
    comm = "n1:41:99 [0] NCCL INFO comm 0x55aa rank {} nranks {} cudaDev 0 busId 1000 - Init COMPLETE\n"
    event = one(comm.format(1, 2) + comm.format(6, 8) + comm.format(0, 4) + f"n1:41:99 [0] NCCL WARN {OOM}\n")
    assert event.rank == 6


def test_one_labelled_line_does_not_name_the_rank_of_the_others() -> None:
    found = events(f"Using network IB\n[rank2]: {OOM}\n")
    assert [event.rank for event in found] == [None, 2]
