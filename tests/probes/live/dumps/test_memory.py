"""Processes that hold a pipe and a recording open as the recorder does, and answer as it does or otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probes.live.dumps import memory
from probes.live.dumps.memory import Taken, listening, snapshots
from probes.node.interface.host import this_host
from probes.node.interface.processes import Rank

RANK = """
import json, os, sys, time
folder, how, answer = sys.argv[1:4]
path = os.path.join(folder, ".rank3.ask")
recording = open(os.path.join(folder, "rank3.jsonl"), "a")
print(answer, file=recording, flush=True)  # what stood there before does not count
if how == "file":
    pipe = open(path, "w+")
elif how != "none":
    os.mkfifo(path, 0o600)
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
if how == "replaced":
    os.rename(path, path + ".own")
    os.mkfifo(path)
def asked():
    try:
        return os.read(pipe, 64)
    except BlockingIOError:  # somebody has opened the pipe, and not written yet
        return b""
print("ready", flush=True)
while True:
    time.sleep(0.02)
    if how in ("answers", "replaced") and asked():
        for line in ('{"record":"snapshot","at_step":7,"steps":16}', "{damaged", '[1, "record":"snapshot"]', answer):
            print(line, file=recording, flush=True)
        if len(sys.argv) > 4:
            break
"""


@contextmanager
def running(folder: Path, how: str, answer: str, *ends: str) -> Iterator[Rank]:
    command = [sys.executable, "-c", RANK, str(folder), how, answer, *ends]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield Rank(process.pid, os.getpid(), 3, 3, {}, tuple(command))
        process.stdin.close()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def asked(folder: Path, how: str = "answers", answer: str = "", wait: float = 120.0) -> Taken:
    with running(folder, how, answer) as rank:
        return snapshots(this_host(), [rank], wait)


def test_processes_that_can_be_asked_are_found_by_what_they_hold_open(tmp_path: Path) -> None:
    for name in ("other", "none"):
        (tmp_path / name).mkdir()
    with (
        running(tmp_path, "answers", "") as one,
        running(tmp_path / "other", "deaf", "") as other,
        running(tmp_path / "none", "none", "") as none,
        running(tmp_path / "none", "file", "") as file,
    ):
        found = {rank.pid: rank for rank in listening(this_host())}
        assert found[one.pid].rank == found[other.pid].rank == 3
        assert found[one.pid].command[0] == sys.executable and found[one.pid].parent == os.getpid()
        assert none.pid not in found and file.pid in found  # what it is turns out when it is asked


def told(name: str) -> str:
    return f'{{"record":"snapshot","at_step":23,"file":"{name}"}}'


def test_the_file_that_the_rank_tells_of_is_its_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "rank3-memory-1.pickle"
    file.write_bytes(b"snapshot")
    assert asked(tmp_path, answer=told(file.name)) == Taken({3: file})


def test_its_reason_is_told(tmp_path: Path) -> None:
    answer = '{"record":"snapshot","at_step":23,"why":"has taken 4 snapshots, and takes no more"}'
    assert asked(tmp_path, answer=answer).refused == {"has taken 4 snapshots, and takes no more": [3]}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../secret.pickle", "names a file that no recorder writes"),
        ("rank3.jsonl", "names a file that no recorder writes"),
        ("rank3-memory-2.pickle", "rank3-memory-2.pickle: No such file or directory"),
        ("rank3-memory-3.pickle", "rank3-memory-3.pickle is another file than the recorder's"),
        ("rank3-memory-4.pickle", "rank3-memory-4.pickle is another file than the recorder's"),
    ],
)
def test_a_recording_that_lies_has_nothing_opened(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "secret.pickle").write_bytes(b"secret")
    (tmp_path / "rank3-memory-3.pickle").symlink_to(tmp_path / "secret.pickle")
    os.mkfifo(tmp_path / "rank3-memory-4.pickle")
    taken = asked(tmp_path, answer=told(name))
    assert taken.files == {}
    assert [one.lower() for one in taken.refused] == [reason.lower()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_a_stranger_is_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "rank3-memory-1.pickle"
    file.write_bytes(b"snapshot")
    os.chown(file, 65534, 65534)
    assert list(asked(tmp_path, answer=told(file.name)).refused) == [f"{file.name} is another file than the recorder's"]


def test_a_snapshot_beyond_what_can_be_read_beside_the_job_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rank3-memory-1.pickle"
    with file.open("wb") as sparse:
        sparse.truncate(memory.MOST_BYTES + 1)
    (reason,) = asked(tmp_path, answer=told(file.name)).refused
    assert reason == f"holds 96 MiB, too much to be read beside the job: pdoctor analyze {file}"


def test_the_pipe_that_the_rank_holds_is_asked_and_not_one_in_its_place(tmp_path: Path) -> None:
    """Its name says otherwise now, so that nothing is asked: the stranger's pipe hears nothing."""
    taken = asked(tmp_path, "replaced", told("rank3-memory-1.pickle"), wait=1.0)
    assert taken.files == {}
    assert list(taken.refused) == ["runs no recorder that sees a GPU; see docs/recorder.md"]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("none", "runs no recorder that sees a GPU; see docs/recorder.md"),
        ("file", "there is another file in place of the pipe of its recorder"),
        ("deaf", "took none within 1 s: it does so at the end of a step"),
    ],
)
def test_a_rank_that_takes_none_is_told_with_its_reason(how: str, reason: str, tmp_path: Path) -> None:
    assert asked(tmp_path, how, wait=1.0).refused == {reason: [3]}


def test_a_rank_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    with running(tmp_path, "deaf", "") as rank:
        ended = threading.Timer(0.5, os.kill, (rank.pid, 9))  # it stays as a zombie: its launcher has not seen it yet
        ended.start()
        assert snapshots(this_host(), [rank], 120.0).refused == {"ended before it took one": [3]}


def test_a_rank_that_tells_and_ends_at_once_is_heard(tmp_path: Path) -> None:
    """As one does that runs out of memory."""
    file = tmp_path / "rank3-memory-1.pickle"
    file.write_bytes(b"snapshot")
    with running(tmp_path, "answers", told(file.name), "ends") as rank:
        assert snapshots(this_host(), [rank], 120.0) == Taken({3: file})


def test_a_watch_that_ends_waits_for_none(tmp_path: Path) -> None:
    stopping = threading.Event()
    stopping.set()
    with running(tmp_path, "deaf", "") as rank:
        assert snapshots(this_host(), [rank], 60.0, stopping) == Taken()
