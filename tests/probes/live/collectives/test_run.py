"""Real ranks over gloo: what they measure, and what is said when one dies or stops. Nothing may stay behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from probes.live.collectives.measure import Request
from probes.live.collectives.model import OPERATIONS, Result
from probes.live.collectives.run import run
from probes.live.collectives.start import WORKER, BenchError, Place, place_of
from probes.live.collectives.worker import local_device

PYTHON = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")
needs_torch = pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")
SMALL = Request(operations=("all_reduce",), sizes=(1024,), pairs=False, step=3, total=40)


def workers() -> set[int]:
    """Processes that run the worker script and were started by this process."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if str(WORKER).encode() in words and state != "Z":
            found.add(int(entry.name))
    return found


@pytest.fixture
def nothing_left() -> Iterator[None]:
    before = workers()
    yield
    end = time.monotonic() + 3
    while workers() - before and time.monotonic() < end:
        time.sleep(0.05)
    assert workers() <= before


def bench_of(request: Request, ranks: int = 3, **options: object) -> Result:
    result = run(request, PYTHON, "gloo", ranks, **options)  # type: ignore[arg-type]
    assert result is not None
    return result


@needs_torch
def test_every_operation_is_measured_and_right(nothing_left: None) -> None:
    result = bench_of(Request(sizes=(1024, 65536), step=15, total=60))
    assert [row.operation for row in result.rows] == [name for name in OPERATIONS for _ in range(2)]
    assert all(row.seconds > 0 and row.wrong == 0 and row.slowest >= row.seconds for row in result.rows)
    assert (result.lost, result.verdict) == (None, None)
    assert [left.operation for left in result.skipped] == ["pairs"]  # ranks of one host share its processors


class Hurts:
    """Does something to one rank once the test has got to a size."""

    def __init__(self, signal_number: int, step: str, before: set[int]) -> None:
        self.signal, self.step, self.before, self.victim = signal_number, step, before, 0

    def __call__(self, text: str) -> None:
        if text == self.step and not self.victim:
            self.victim = max(workers() - self.before)  # the last rank was forked last
            os.kill(self.victim, self.signal)


@needs_torch
def test_a_rank_that_is_killed_is_named_with_what_it_was_in(nothing_left: None) -> None:
    hurts = Hurts(signal.SIGKILL, "all_reduce 4096", workers())
    result = bench_of(replace(SMALL, sizes=(1024, 4096), told=hurts))
    assert result.lost is not None
    assert (result.lost.ranks, result.lost.operation, result.lost.bytes) == ((2,), "all_reduce", 4096)
    assert "ended" in result.lost.why
    assert [row.bytes for row in result.rows] == [1024]


@needs_torch
def test_a_rank_that_stops_is_named_within_the_time_out(nothing_left: None) -> None:
    hurts = Hurts(signal.SIGSTOP, "all_reduce 4096", workers())
    begun = time.monotonic()
    result = bench_of(replace(SMALL, sizes=(1024, 4096), told=hurts))
    assert result.lost is not None
    assert (result.lost.ranks, result.lost.bytes) == ((2,), 4096)
    assert "no sign of life" in result.lost.why
    assert time.monotonic() - begun < SMALL.total


HANGS = """\
import sys, time
sys.path.insert(1, {folder!r})
import worker
init = worker.Rank.init
def hangs(self, order):
    if {{1, 3}} <= set(order.get("members", range(self.world))):
        time.sleep(1000)
    return init(self, order)
worker.Rank.init = hangs
worker.main()
"""


@needs_torch
def test_where_all_wait_the_two_that_cannot_meet_are_found_by_halves(tmp_path: Path, nothing_left: None) -> None:
    script = tmp_path / "hangs.py"
    script.write_text(HANGS.format(folder=str(WORKER.parent)))
    result = bench_of(replace(SMALL, step=5), 4, script=script)
    assert result.lost is not None and (result.lost.ranks, result.lost.operation) == ((), "init")
    assert result.lost.narrowed is not None
    assert (result.lost.narrowed.ranks, result.lost.narrowed.passed) == ((1, 3), ((0, 1), (2, 3)))


@needs_torch
def test_ranks_leave_when_pdoctor_itself_is_killed(nothing_left: None) -> None:
    before = workers()
    command = [sys.executable, "-m", "doctor", "bench", "--python", PYTHON, "--backend", "gloo", "--ranks", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 120
        while len(workers() - before) < 3 and time.monotonic() < end:  # the launcher and its two ranks
            time.sleep(0.05)
        assert len(workers() - before) == 3
        process.kill()


@needs_torch
def test_ranks_that_a_launcher_starts_meet_and_the_first_reports(nothing_left: None) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    others: list[Result | None] = []
    second = Place(1, 2, 1, "127.0.0.1", port)
    thread = threading.Thread(target=lambda: others.append(run(SMALL, PYTHON, "gloo", place=second)))
    thread.start()
    result = bench_of(replace(SMALL, step=20), place=replace(second, rank=0, local=0))
    thread.join()
    assert others == [None]
    assert [row.operation for row in result.rows] == ["all_reduce"]
    assert len(result.members) == 2


@needs_torch
def test_a_rank_that_never_comes_is_named(nothing_left: None) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    result = bench_of(replace(SMALL, step=6), place=Place(0, 2, 0, "127.0.0.1", port))
    assert result.lost is not None
    assert (result.lost.ranks, result.lost.operation) == ((1,), "start")


def test_an_interpreter_without_torch_is_said_in_one_line(tmp_path: Path, nothing_left: None) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(BenchError, match=r"cannot import torch.*--python"):
        run(SMALL, str(bare), "gloo", 2)


def test_an_interpreter_that_is_not_there_is_said_in_one_line() -> None:
    with pytest.raises(BenchError, match=r"nowhere.*does not start"):
        run(SMALL, "/nowhere/python", "gloo", 2)


def test_the_worker_imports_nothing_but_the_standard_library() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import worker; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", code, str(WORKER.parent)], capture_output=True, text=True, check=True
    )
    assert not {"torch", "doctor", "probes", "numpy"} & set(done.stdout.split())


def test_a_rank_takes_its_own_gpu_or_the_only_one_its_launcher_shows_it() -> None:
    assert local_device(3, 8) == 3
    assert local_device(3, 1) == 0
    with pytest.raises(SystemExit, match="local rank 8, but torch sees 4 GPUs"):
        local_device(8, 4)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "n1", "MASTER_PORT": "1"}, None),
        (
            {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"},
            Place(3, 8, 1, "n1", 29500),
        ),
        (
            {"SLURM_PROCID": "9", "SLURM_STEP_NUM_TASKS": "16", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "77",
             "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1"},
            Place(9, 16, 1, "10.0.0.1", 20077),
        ),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"},
            Place(1, 2, 0, "n1", 29500),
        ),
    ],
)  # fmt: skip
def test_the_place_of_a_rank_is_what_its_launcher_says(environment: dict[str, str], expected: Place | None) -> None:
    assert place_of(environment) == expected


def test_ranks_that_do_not_know_where_to_meet_are_told_what_is_missing() -> None:
    with pytest.raises(BenchError, match="MASTER_ADDR"):
        place_of({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"})
