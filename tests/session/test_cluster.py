"""Files read by a cluster give the answer that they give without; what a dead worker had is read all the same."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import doctor
from doctor.cli.main import run
from doctor.rulebase.load import Loaded, load_rulebase
from doctor.session.analyze import Material, read_paths
from doctor.session.cluster import ElsewhereError, Task, perform
from doctor.session.inputs import InputError
from probes.files.log import LogFile, elsewhere, read_logs
from probes.files.log.reader import FileReading
from tests.probes.files.trace.samples import collective, kernel, launch, step, trace, written

distributed = pytest.importorskip("distributed", reason="the extra `cluster` (dask.distributed) is not installed")

RANKS = 256


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load_rulebase(())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traces of 256 ranks, one of them broken."""
    path = tmp_path_factory.mktemp("traces")
    for rank in range(RANKS):
        events = [step(1, 0.0, 2000.0), step(2, 2000.0, 2000.0)]
        for n in range(20):
            events += [launch(200.0 * n, n + 1), kernel("gemm", 200.0 * n + 10, 100.0 + rank % 7, correlation=n + 1)]
            events.append(collective("allreduce", 200.0 * n + 120, 30.0, range(RANKS), "dp", Seq=n))
        written(path / f"trace_{rank}.json", trace(events, rank, RANKS))
    (path / "trace_77.json").write_text('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "na')
    return path


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Summaries are kept from run to run: here each run reads its files. Workers may take long to come."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("doctor.session.cluster.PATIENCE", 180.0)


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", *arguments]
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def scheduler(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers, each a process of its own; its address and the workers."""
    told = folder / "scheduler.json"
    with ExitStack() as stack:
        here = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told))
        stack.enter_context(process("distributed.cli.dask_scheduler", *here))
        deadline = time.monotonic() + 180
        while not told.exists() or not told.read_text():
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(0.05)
        address = json.loads(told.read_text())["address"]
        own = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        started = [stack.enter_context(process("distributed.cli.dask_worker", address, *own)) for _ in range(workers)]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=180)
        yield address.replace("tcp://", "dask://"), started


def said(material: Material) -> tuple[object, ...]:
    return material.inputs, material.facts, material.events


def test_two_workers_give_the_answer_of_one_process(
    folder: Path, loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = read_paths([folder], loaded)
    with scheduler(tmp_path) as (place, _):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        together = read_paths([folder], loaded, place=place)
    assert said(together) == said(alone)
    assert len([given for given in together.inputs if given.rank is not None]) == RANKS - 1
    assert together.notes == ()


def test_a_worker_that_is_killed_in_the_middle_loses_nothing(
    folder: Path, loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = read_paths([folder], loaded)
    with scheduler(tmp_path) as (place, workers):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        killed = threading.Event()

        def progress(done: int, _: int) -> None:
            if done == 20 and not killed.is_set():
                os.kill(workers[0].pid, signal.SIGKILL)
                killed.set()

        together = read_paths([folder], loaded, progress=progress, place=place)
    assert killed.is_set()
    assert said(together) == said(alone)


def test_when_all_workers_are_gone_the_rest_is_read_here(
    folder: Path, loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = read_paths([folder], loaded)
    with scheduler(tmp_path) as (place, workers):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        killed = threading.Event()

        def progress(done: int, _: int) -> None:
            if done == 20 and not killed.is_set():
                for worker in workers:
                    os.kill(worker.pid, signal.SIGKILL)
                monkeypatch.setattr("doctor.session.cluster.PATIENCE", 4.0)
                killed.set()

        together = read_paths([folder], loaded, progress=progress, place=place)
    assert said(together) == said(alone)
    assert [note.key for note in together.notes] == ["cluster.says"]


def test_processes_here_read_traces_and_dumps(folder: Path, loaded: Loaded, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for rank in range(3):
        (mixed / f"trace_{rank}.json").write_bytes((folder / f"trace_{rank}.json").read_bytes())
        pg = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
        dump = {"version": "2.4", "pg_config": pg, "pg_status": {}, "entries": []}
        (mixed / f"nccl_trace_rank_{rank}").write_text(json.dumps(dump))
    together = read_paths([mixed], loaded, place="local")
    assert said(together) == said(read_paths([mixed], loaded))
    assert {given.kind for given in together.inputs} == {"trace", "flight_recorder"}
    assert together.notes == ()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    """Logs, traces and dumps of the ranks of one job; a log is packed, one is empty, one is no UTF-8."""
    path = tmp_path_factory.mktemp("mixed")
    ranks = range(24)
    pg = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(ranks))}}
    for rank in ranks:
        lines = [f"[rank{rank}]: step {step} loss 2.{step} | 812.5 ms" for step in range(40)]
        lines += [f"n1:{900 + rank}:{900 + rank} [{rank % 8}] NCCL INFO NCCL version 2.21.5+cuda12.4"]
        if rank == 5:
            lines += [
                "Traceback (most recent call last):",
                '  File "train.py", line 7, in step',
                "    y = layer(x)",
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of "
                "79.11 GiB of which 1.21 GiB is free.",
            ]
        text = "\n".join(lines).encode() + (b" \xff\n" if rank == 7 else b"\n")
        (path / f"rank{rank}.log").write_bytes(b"" if rank == 9 else text)
        (path / f"trace_{rank}.json").write_bytes((folder / f"trace_{rank}.json").read_bytes())
        dump = {"version": "2.4", "pg_config": pg, "pg_status": {}, "entries": []}
        (path / f"nccl_trace_rank_{rank}").write_text(json.dumps(dump))
    (path / "rank11.log.gz").write_bytes(gzip.compress((path / "rank11.log").read_bytes()))
    (path / "rank11.log").unlink()
    return path


def test_logs_traces_and_dumps_are_all_read_by_the_workers(
    mixed: Path, loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = read_paths([mixed], loaded)
    assert {event.name for event in alone.events} >= {"torch.cuda_oom", "python.traceback", "nccl.version"}
    monkeypatch.setattr("probes.files.log.read_file", lambda *_, **__: pytest.fail("a log was read here"))
    with scheduler(tmp_path) as (place, _):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        together = read_paths([mixed], loaded, place=place)
    assert said(together) == said(alone)
    assert together.notes == ()


def test_a_worker_killed_among_the_logs_loses_nothing(
    mixed: Path, loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = sorted(mixed.glob("*.log*"))
    alone = read_paths(logs, loaded)
    with scheduler(tmp_path) as (place, workers):
        killed = threading.Event()
        unpacked = elsewhere.unpacked

        def kill(data: bytes) -> FileReading:
            if not killed.is_set():
                os.kill(workers[0].pid, signal.SIGKILL)
                killed.set()
            return unpacked(data)

        monkeypatch.setattr("probes.files.log.elsewhere.unpacked", kill)
        together = read_paths(logs, loaded, place=place)
    assert killed.is_set()
    assert said(together) == said(alone)


def test_what_a_log_says_comes_back_as_it_was(mixed: Path, loaded: Loaded) -> None:
    specs = list(loaded.base.events.values())
    order = elsewhere.Order(None, True, 500, "job", None, ("literal", "re2", "plain"), False)
    path = mixed / "rank5.log"
    data = elsewhere.read(path, "rank5.log", order, elsewhere.packed(specs), None)
    assert list(elsewhere.unpacked(data).events) == read_logs([LogFile(path, "rank5.log")], specs).events


def test_a_worker_refuses_what_is_not_the_file_that_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("hello")
    status = path.stat()
    task = Task(Path.read_text, (path,), status.st_size, status.st_mtime_ns, doctor.__version__)
    assert perform(task) == "hello"
    for wrong in (
        replace(task, size=4),
        replace(task, time=0),
        replace(task, version="0"),
        replace(task, arguments=("",)),
    ):
        with pytest.raises(ElsewhereError):
            perform(wrong)


@pytest.mark.parametrize("place", ["somewhere", "tcp://x", "dask://127.0.0.1:1"])
def test_a_cluster_that_is_none_is_one_clear_line(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.session.cluster.PATIENCE", 1.0)
    (tmp_path / "a.log").write_text("hello\n")
    assert run(["analyze", str(tmp_path / "a.log"), "--cluster", place]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_an_allocation_slurm_is_refused(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(InputError) as raised:
        read_paths([tmp_path], loaded, place="slurm")
    assert raised.value.note.key == "cluster.no_allocation"


def test_in_an_allocation_workers_are_started_by_srun(
    folder: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An `srun` that runs its command on this machine."""
    launcher = tmp_path / "bin" / "srun"
    launcher.parent.mkdir()
    launcher.write_text('#!/bin/sh\nwhile [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"\n')
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{launcher.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    few = [folder / f"trace_{rank}.json" for rank in range(4)]
    assert said(read_paths(few, loaded, place="slurm")) == said(read_paths(few, loaded))
