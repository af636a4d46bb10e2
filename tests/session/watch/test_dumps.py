"""Processes that answer the pipe of the flight recorder as PyTorch does (DumpPipe, HeartbeatMonitor), and real ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from doctor.session.notes import Note
from doctor.session.report import Report
from doctor.session.watch.dumps import BEFORE, FLIGHT, STACKS, Dumps, Hang, moments, suspected
from doctor.session.watch.model import Kind
from probes.live.dumps.flight import dump_flight_recorders
from probes.node.interface.host import this_host
from probes.node.interface.processes import Rank, ranks_here
from probes.node.interface.py_spy import find
from tests.probes.files.flight_recorder.dumps import Job, plain
from tests.probes.node.hung import PYTHON, job
from tests.session.watch.announcements import said

RECORDER = """
import json, os, sys, time
rank, how = os.environ["RANK"], sys.argv[1]
pipe = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + rank + ".pipe"
if how == "file":
    open(pipe, "w").close()
elif how != "gloo":
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    if how == "deaf":
        os.close(reader)
def asked():
    try:
        return os.read(reader, 128)
    except BlockingIOError:  # somebody has opened the pipe, and not written yet
        return b""
print("ready", flush=True)
while True:
    time.sleep(0.05)
    if how == "answers" and asked():
        with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + rank, "w") as file:
            file.write(os.environ["DUMP"])
"""


def dumps() -> dict[int, str]:
    """What four ranks have in their recorders: rank 2 never came to the last call."""
    world = Job({"0": ("default_pg", range(4))})
    for _ in range(5):
        world.call(range(4), "all_reduce", "0")
    world.call((0, 1, 3), "all_reduce", "0", done=False, state="started")
    return {rank: json.dumps(plain(world.document(rank))) for rank in range(4)}


@contextmanager
def ranks(folder: Path, hows: Mapping[int, str], size: int = 4, log: Path | None = None) -> Iterator[str]:
    """Processes that say they are ranks, and have `log` open; gives the name of their job."""
    name, texts = f"dumps-{folder.name}-{os.getpid()}", dumps()
    with ExitStack() as stack:
        for rank, how in hows.items():
            own = {
                "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "TORCHELASTIC_RUN_ID": name,
                "LOCAL_WORLD_SIZE": str(len(hows)), "DUMP": texts[rank],
                "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(folder / "pipe_"), "TORCH_FR_DUMP_TEMP_FILE": str(folder / "fr_"),
            }  # fmt: skip
            errors = stack.enter_context((log or folder / "errors").open("ab"))
            errors.write(b"rank\n")
            errors.flush()
            process = subprocess.Popen(
                [sys.executable, "-c", RECORDER, how],
                env={**os.environ, **own},
                stdout=subprocess.PIPE,
                stderr=errors,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            stack.callback(process.stdout.close)
        yield name


def seen(name: str) -> tuple[Rank, ...]:
    return ranks_here(replace(this_host(), job=name)).job


class Fed:
    def __init__(self) -> None:
        self.facts: dict[str, list[Fact]] = {}
        self.notes: list[Note] = []
        self.done = threading.Event()

    def feed(self, kind: str, facts: object) -> None:
        self.facts[kind] = list(facts)  # type: ignore[call-overload]
        self.done.set()

    def dumps(self, name: str, *kinds: str) -> Dumps:
        return Dumps(kinds, replace(this_host(), job=name), list, self.notes.append, self.feed)


def test_every_rank_dumps_and_the_rank_they_wait_for_is_known(tmp_path: Path) -> None:
    fed = Fed()
    with ranks(tmp_path, dict.fromkeys(range(4), "answers")) as name:
        told = fed.dumps(name, FLIGHT)
        told.take()
        told.close()
    assert [note.values["text"] for note in fed.notes] == ["ranks 0-3"]
    facts = {fact.name: fact.value for fact in fed.facts[FLIGHT]}
    assert facts["fr.verdict"] == "stuck-on-cpu"
    assert facts["fr.culprits"] == (2,)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("gloo", "made no pipe for its flight recorder: only a process group over NCCL does"),
        ("deaf", "nobody reads the pipe of the flight recorder"),
        ("file", "there is another file in place of the pipe of the flight recorder"),
        ("silent", "wrote no dump within 8 s"),
    ],
)
def test_a_rank_that_does_not_dump_is_told_with_its_reason(how: str, reason: str, tmp_path: Path) -> None:
    with ranks(tmp_path, {0: "answers", 1: how}) as name:
        flight = dump_flight_recorders(this_host(), seen(name), wait=8.0 if how == "silent" else 60.0)
    assert flight.refused == {reason: [1]}
    assert list(flight.dumped) == [0]
    if how == "file":
        assert (tmp_path / "pipe_1.pipe").read_bytes() == b""


def test_dumps_of_a_part_of_the_job_accuse_nobody(tmp_path: Path) -> None:
    fed = Fed()
    with ranks(tmp_path, {0: "answers", 1: "answers"}, size=4) as name:
        told = fed.dumps(name, FLIGHT)
        told.take()
        told.close()
    assert fed.facts == {}
    assert [note.key for note in fed.notes] == ["attach.dumped", "attach.dump_partial", "attach.how_to_look"]


def test_a_job_that_offers_nothing_is_told_so_and_no_job_too(tmp_path: Path) -> None:
    fed = Fed()
    told = fed.dumps("no such job", FLIGHT)
    told.take()
    told.close()
    assert [note.key for note in fed.notes] == ["attach.no_slurm_here"]


def test_the_job_is_the_one_that_writes_the_logs_and_no_other(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    with ranks(own, {0: "answers"}, size=1, log=own / "job.log"), ranks(other, {0: "answers"}, size=1):
        for followed, seen_there in (([own / "job.log"], True), ([other / "job.log"], False)):
            fed = Fed()
            told = Dumps([FLIGHT], this_host(), lambda paths=followed: map(str, paths), fed.notes.append, fed.feed)  # type: ignore[misc]
            told.take()
            told.close()
            assert bool(fed.facts) == seen_there
    assert not (other / "fr_0").exists()
    assert [note.key for note in fed.notes] == ["attach.no_job"]


@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")
@pytest.mark.skipif(find(this_host(), Rank(0, 0, 0, None, {}, (PYTHON,))) is None, reason="py-spy is not installed")
def test_stacks_of_real_ranks_that_hang(tmp_path: Path) -> None:
    fed = Fed()
    with job(tmp_path, "data") as running:
        told = fed.dumps(running.name, STACKS, FLIGHT)
        told.take()
        told.close()
    facts = {fact.name: fact.value for fact in fed.facts[STACKS]}
    assert facts["stack.waiting"] == (0, 1, 3)
    assert FLIGHT not in fed.facts


def test_without_stacks_it_is_said_once_in_a_hang_how_to_get_them(tmp_path: Path) -> None:
    with ranks(tmp_path, {0: "gloo"}, size=1) as name:
        pid = seen(name)[0].pid
        for kinds, keys in (((), []), ((FLIGHT,), ["attach.not_dumped"])):
            fed = Fed()
            told = fed.dumps(name, *kinds)
            told.take()
            told.take()
            told.close()
            assert Note("attach.how_to_look", str(pid), {"text": ""}) in fed.notes
            assert [note.key for note in fed.notes] == [*keys, "attach.how_to_look", *keys]
    fed = Fed()
    told = fed.dumps(name)
    told.take()
    told.close()
    assert [note.key for note in fed.notes] == ["attach.how_to_look_there"]


def test_what_will_stand_in_the_way_of_stacks_is_said_at_the_start(tmp_path: Path) -> None:
    """Rights that lack stay so; a program that fails otherwise, or a job that is not there yet, may come right."""
    spy = tmp_path / "py-spy"
    with ranks(tmp_path, {0: "gloo"}, size=1) as name:
        for error, reasons in (("Permission denied (os error 13)", 1), ("Error: no Python yet", 0)):
            spy.write_text(f"#!/bin/sh\necho '{error}' >&2\nexit 1\n")
            spy.chmod(0o755)
            for job, told in ((name, reasons), ("none of that name", 0)):
                fed = Fed()
                host = replace(this_host(), job=job, environ={"PATH": str(tmp_path)})
                dumps = Dumps([STACKS], host, list, fed.notes.append, fed.feed)
                dumps.check()
                dumps.close()
                assert [note.key for note in fed.notes] == ["attach.not_dumped"] * told
                assert all(f"py-spy dump --pid {seen(name)[0].pid}" in note.values["text"] for note in fed.notes)


def stalled(strikes_at: float | None = None) -> FactStore:
    facts = [Fact("live.stalled", True, "job")]
    return FactStore([*facts, Fact("live.strikes_at", strikes_at, "job")] if strikes_at is not None else facts)


def test_a_hang_is_what_the_vital_signs_say() -> None:
    assert suspected(FactStore([Fact("live.stalled", False, "job")])) is None
    assert suspected(FactStore()) is None
    assert suspected(stalled()) == Hang(None)
    assert suspected(stalled(500.0)) == Hang(500.0)


def test_dumps_are_taken_at_once_and_before_the_time_out() -> None:
    assert list(moments(100.0, Hang(None))) == [100.0]
    assert list(moments(100.0, Hang(700.0))) == [100.0, 700.0 - BEFORE]
    assert list(moments(100.0, Hang(110.0))) == [100.0]


def test_a_hang_starts_dumps_once_and_other_findings_none(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    fed = Fed()
    told = fed.dumps("none", FLIGHT)
    monkeypatch.setattr(Dumps, "take", lambda self: taken.append(self))
    told(said())
    time.sleep(0.1)
    assert taken == []
    report = replace(said().report, store=stalled())
    for kind in (Kind.NEW, Kind.UPDATED, Kind.UPDATED):
        told(said("silence", kind=kind, report=report))
    end = time.monotonic() + 60.0
    while not taken and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(taken) == 1
    told(said("silence", kind=Kind.RESOLVED))
    told(said("silence", report=report))
    end = time.monotonic() + 60.0
    while len(taken) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert len(taken) == 2
    told.close()


def at_step(step: float, *facts: Fact) -> Report:
    return replace(said().report, store=FactStore([Fact("live.step", step, "job"), *facts]))


HUNG, FAILED = Fact("live.stalled", True, "job"), Fact("failure.first_line", "rank2.log:7", "job")


@pytest.mark.parametrize(
    ("report", "holds"),
    [
        (at_step(40, HUNG), True),
        (at_step(41), True),
        (at_step(43), False),
        (at_step(43, FAILED), True),
        (at_step(43, HUNG), True),
    ],
)
def test_what_was_taken_of_a_hang_holds_until_the_job_goes_on(
    report: Report, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One step further may be the end of the one that others hang in; a failure is what it tells the reason of."""
    fed = Fed()
    monkeypatch.setattr(Dumps, "take", lambda self: self._feed(STACKS, [Fact("stack.fault", "data", "rank:2")]))
    dumps = fed.dumps("none", STACKS)
    dumps(said("silence", report=at_step(40, HUNG)))
    assert fed.done.wait(60.0)
    dumps.look(report)
    assert bool(fed.facts[STACKS]) == holds
    fed.done.clear()
    dumps(said("other", report=at_step(60, HUNG)))
    assert fed.done.wait(0.2 if holds else 60.0) != holds  # the same hang, or another one
    dumps.close()


def test_a_dump_that_comes_when_the_job_has_gone_on_is_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = Fed()
    monkeypatch.setattr(Dumps, "take", lambda self: None)
    dumps = fed.dumps("none", STACKS)
    dumps(said("silence", report=at_step(40, HUNG)))
    dumps.look(at_step(50))
    dumps._feed(STACKS, [Fact("stack.fault", "data", "rank:2")])
    assert fed.facts == {}
    dumps.close()
