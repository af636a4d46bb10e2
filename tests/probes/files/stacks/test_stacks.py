"""Saved stacks: what py-spy prints as text and JSON, and what the real faulthandler writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.facts.model import Fact
from doctor.session.analyze import analyze_paths
from doctor.session.stack_tree import stacks_of
from probes.files.stacks import is_stacks, read_printed, read_stacks
from probes.files.stacks.doing import Doing, stand_of
from probes.files.stacks.model import Frame
from probes.files.stacks.verdict import RankStack, verdict

WAITS = """\
Thread {pid} (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:3252)
    wrapper (torch/distributed/c10d_logger.py:83)
    train (train.py:35)
    <module> (train.py:41)
Thread {tid} (idle): "Thread-1 (monitor)"
    wait (threading.py:331)
    run (threading.py:982)
"""
LOADS = """\
Thread {pid} (idle): "MainThread"
    wait (threading.py:331)
    get (multiprocessing/queues.py:103)
    _try_get_data (torch/utils/data/dataloader.py:1251)
    __next__ (torch/utils/data/dataloader.py:701)
    train (train.py:26)
    <module> (train.py:41)
"""


def dump(pid: int, threads: str) -> str:
    head = f"Process {pid}: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
    return head + threads.format(pid=pid, tid=pid + 1) + "\n"


def values(facts: list[Fact]) -> dict[tuple[str, str], object]:
    return {(fact.name, fact.entity): fact.value for fact in facts}


def test_dumps_of_py_spy_one_a_rank_name_the_rank_in_its_loader(tmp_path: Path) -> None:
    for rank in range(4):
        (tmp_path / f"rank{rank}.txt").write_text(dump(100 + rank, LOADS if rank == 2 else WAITS))
    report = analyze_paths([tmp_path])
    (root,) = report.diagnosis.roots
    assert (root.rule.id, root.entities) == ("HNG051", ("rank:2",))
    assert root.sources[0].path == "rank2.txt" and "dataloader.py" in root.sources[0].text
    assert {given.kind for given in report.inputs} == {"stacks"}
    (tree,) = stacks_of(report.store)
    assert tree.frames == ("<module> (train.py:41)",)
    assert [(branch.ranks, branch.frames[0]) for branch in tree.branches] == [
        ((0, 1, 3), "train (train.py:35)"),
        ((2,), "train (train.py:26)"),
    ]


def test_processes_in_one_text_count_as_ranks_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    path.write_text("".join(dump(pid, LOADS if pid == 104 else WAITS) for pid in (103, 101, 104, 102)))
    reading = read_stacks([(path, "stacks.txt")])
    assert values(reading.facts)["stack.fault", "rank:3"] == "data"
    assert any("process 104" in text and "counts as rank 3" in text for text in reading.warnings["stacks.txt"])


def test_json_of_py_spy(tmp_path: Path) -> None:
    def thread(rank: int, frames: list[tuple[str, str, int]]) -> dict[str, object]:
        told = [{"name": n, "filename": f"/job/{f}", "short_filename": f, "line": line} for n, f, line in frames]
        head = {"pid": 70 + rank, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": 70 + rank}
        return {**head, "active": False, "owns_gil": False, "frames": told, "process_info": None}

    waits = [("barrier", "torch/distributed/distributed_c10d.py", 5), ("train", "train.py", 30)]
    saves = [
        ("_save", "torch/serialization.py", 900),
        ("save", "torch/serialization.py", 800),
        ("train", "train.py", 20),
    ]
    for rank in range(3):
        (tmp_path / f"rank_{rank}.json").write_text(json.dumps([thread(rank, saves if rank == 0 else waits)], indent=2))
    files = [(tmp_path / f"rank_{rank}.json", f"rank_{rank}.json") for rank in range(3)]
    assert all(is_stacks(path) for path, _ in files)
    found = values(read_stacks(files).facts)
    assert (found["stack.fault", "rank:0"], found["stack.op", "rank:1"]) == ("save", "barrier")


def test_what_the_real_faulthandler_writes(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import faulthandler, sys, threading, time\n"
        "def monitor():\n    time.sleep(60)\n"
        "def load_batch():\n    faulthandler.dump_traceback(file=open(sys.argv[1], 'w'), all_threads=True)\n"
        "threading.Thread(target=monitor, daemon=True).start()\n"
        "load_batch()\n"
    )
    path = tmp_path / "rank3.fault"
    subprocess.run([sys.executable, str(script), str(path)], check=True, timeout=180)
    assert is_stacks(path)
    reading = read_stacks([(path, path.name)])
    found = values(reading.facts)
    assert (found["stack.doing", "rank:3"], found["stack.frame", "rank:3"]) == ("data", "load_batch (train.py:5)")
    assert found["stack.frames", "rank:3"] == ("<module> (train.py:7)", "load_batch (train.py:5)")


HANDLER = """\
{prefix}Timeout (0:10:00)!
{prefix}Thread 0x00007f1a2b3c4d00 (most recent call first):
{prefix}  File "/usr/lib/python3.11/threading.py", line 331 in wait
{prefix}Thread 0x00007f1a2b3c4e00 (most recent call first):
{frames}
"""
ALL_REDUCE = """\
{prefix}  File "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252 in all_reduce
{prefix}  File "/job/train.py", line 35 in train"""
GET_BATCH = """\
{prefix}  File "/job/data.py", line 5 in get_batch
{prefix}  File "/job/train.py", line 26 in train"""


def printed(rank: int, prefix: str = "", odd: int = 2) -> str:
    frames = (GET_BATCH if rank == odd else ALL_REDUCE).format(prefix=prefix)
    return f"{prefix}step 1 loss 2.1\n" + HANDLER.format(prefix=prefix, frames=frames)


def test_stacks_that_faulthandler_printed_into_the_logs(tmp_path: Path) -> None:
    for rank in range(4):
        (tmp_path / f"rank{rank}.log").write_text(printed(rank))
    report = analyze_paths([tmp_path])
    (root,) = report.diagnosis.roots
    assert (root.rule.id, root.entities) == ("HNG051", ("rank:2",))
    assert {given.kind for given in report.inputs} == {"log"}


def test_one_log_in_which_torchrun_tells_the_ranks_apart(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    lines = [printed(rank, f"[default{rank}]:").splitlines(keepends=True) for rank in range(4)]
    path.write_text("".join(line for group in zip(*lines, strict=True) for line in group))
    assert values(read_printed([(path, path.name, None)]).facts)["stack.culprits", "job"] == (2,)


def test_what_faulthandler_prints_at_a_crash_blames_nobody_for_waiting(tmp_path: Path) -> None:
    path = tmp_path / "rank2.log"
    path.write_text("Fatal Python error: Segmentation fault\n" + printed(2))
    assert read_printed([(path, path.name, 2)]).facts == []


def test_a_rank_that_moved_between_two_dumps_does_not_hang(tmp_path: Path) -> None:
    files = []
    for rank in range(3):
        path = tmp_path / f"rank{rank}.txt"
        path.write_text(dump(9 + rank, WAITS) + dump(9 + rank, WAITS.replace("train.py:35", "train.py:36")))
        files.append((path, path.name))
    assert values(read_stacks(files).facts)["stack.verdict", "job"] == "running"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '[{"pid": 1, "thread_id": 2, "frames": 7}]',
        '[{"pid": 1, "thread_id": 2, "frames": [1, null, {"line": -9, "name": null}]}]',
        "Process 1: x\nPython v3\nThread 1 (idle): \"MainThread\"\n    " + "(" * 5_000 + "\n",
        "Fatal Python error: Aborted\n\nThread 0x0000 (most recent call first):\n  File \"x\n",
        "Process 999999999: \x1b[31m\nPython v3.11\n\x00\xff",
    ],
)  # fmt: skip
def test_damaged_stacks_cost_a_remark_at_most(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rank0.txt"
    path.write_text(text)
    is_stacks(path)
    read_stacks([(path, path.name)])


def test_a_log_with_a_traceback_is_no_dump_of_stacks(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text('step 1\nstep 2\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: x\n')
    assert not is_stacks(path)


COLLECTIVE = "torch/distributed/distributed_c10d.py"


def frames(*given: tuple[str, str]) -> list[Frame]:
    return [Frame(name, file, 10, file) for name, file in given]


@pytest.mark.parametrize(
    ("stack", "doing"),
    [
        ([("all_reduce", COLLECTIVE), ("save_checkpoint", "ckpt.py")], Doing.COLLECTIVE),
        ([("init_process_group", COLLECTIVE), ("main", "train.py")], Doing.RENDEZVOUS),
        ([("synchronize", "torch/cuda/__init__.py"), ("train", "train.py")], Doing.DEVICE),
        ([("wait", "threading.py"), ("_get_data", "torch/utils/data/dataloader.py")], Doing.DATA),
        ([("wait", "threading.py"), ("step", "train.py")], Doing.LOCK),
        ([("save_pretrained", "export.py"), ("main", "train.py")], Doing.SAVE),
        ([("_find_and_load", "<frozen importlib._bootstrap>"), ("<module>", "train.py")], Doing.START),
        ([("forward", "model.py"), ("main", "train.py")], Doing.CODE),
        ([("load_batches_lost", "train.py")], Doing.CODE),
    ],
)
def test_what_a_thread_does_is_told_by_its_frames(stack: list[tuple[str, str]], doing: Doing) -> None:
    stand = stand_of(frames(*stack))
    assert stand is not None and stand.doing is doing


def rank(
    number: int, file: str, name: str, moved: bool | None = False, switches: int = 0, line: str = "train"
) -> RankStack:
    given = tuple(frames((name, file), (line, "train.py")))
    stand = stand_of(given)
    assert stand is not None
    return RankStack(number, stand, given, moved, switches)


def waiting(number: int, **more: object) -> RankStack:
    return rank(number, COLLECTIVE, "all_reduce", **more)  # type: ignore[arg-type]


def test_ranks_that_went_on_waiting_anew_show_a_job_that_runs() -> None:
    late = rank(2, "train.py", "load_batch")
    assert verdict([waiting(0, switches=90), waiting(1, switches=80), late]).kind == "running"
    assert verdict([waiting(0), waiting(1), late]).faults == {2: "data"}


def test_of_several_nodes_ranks_that_all_wait_blame_nobody() -> None:
    ranks = [waiting(0), waiting(1), rank(2, COLLECTIVE, "all_gather")]
    assert verdict(ranks, whole=False).kind == "waiting"
    assert verdict(ranks, whole=True).faults == {2: "other-collective"}


def test_neighbours_of_a_pipeline_stand_in_different_calls_by_design() -> None:
    ranks = [rank(0, COLLECTIVE, "recv"), rank(1, COLLECTIVE, "send"), rank(2, COLLECTIVE, "recv")]
    assert verdict(ranks, whole=True).kind == "stands"


def test_fewer_that_wait_than_work_blame_nobody() -> None:
    work = [rank(number, "train.py", "forward") for number in (1, 2, 3)]
    assert verdict([waiting(0), *work]).kind == "waiting"


def test_ranks_of_equal_numbers_in_two_calls_blame_neither() -> None:
    ranks = [waiting(0), waiting(1), rank(2, COLLECTIVE, "broadcast"), rank(3, COLLECTIVE, "broadcast")]
    assert verdict(ranks, whole=True).kind == "stands"
