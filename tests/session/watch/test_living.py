"""Files that come and go while a job is watched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.watch.follow import follow
from doctor.session.watch.watch import Watch
from tests.session.watch.replay import Replay

OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB.\n"


def said(replay: Replay) -> list[str]:
    return [f"{one.kind} {one.text_key}" for one in replay.said]


def test_the_logs_of_attempts_that_are_over_are_forgotten(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    for attempt in range(6):
        for rank in range(4):
            replay.write(f"run/attempt_{attempt}/{rank}/stderr.log", f"[rank{rank}]: step {attempt}\n")
        replay.turns(2)
        replay.write(f"run/attempt_{attempt}/3/stderr.log", OOM)
        replay.turns(3)
        if attempt:
            replay.write(f"run/attempt_{attempt - 1}/0/stderr.log", "[rank0]: a last word of the attempt before\n")
            replay.turns(2)
    replay.watch.finish()
    assert len([key for key in said(replay) if key.startswith("new MEM")]) == 6
    assert [episode.attempt for episode in replay.watch.episodes] == [0, 1, 2, 3, 4]
    assert replay.watch.status().files <= 5
    assert replay.watch.status().lines == 6 * 4 + 6 + 5


@pytest.mark.parametrize("written", [-(2**40), 2**40, 1 << 55])
def test_a_file_may_have_been_written_at_any_time(tmp_path: Path, written: int) -> None:
    replay = Replay(tmp_path)
    replay.write("rank3.log", "[rank3]: step 1\n" + OOM)
    try:
        os.utime(tmp_path / "rank3.log", (written, written))
    except OSError:
        pytest.skip("this file system keeps no such time")
    replay.turns(3)
    assert any(key.startswith("new MEM") for key in said(replay))


def test_a_job_that_ends_before_the_first_look_is_read(tmp_path: Path) -> None:
    program = f"import sys; sys.stdin.read(); print({OOM!r}, flush=True)"
    with (tmp_path / "job.out").open("w") as out:
        job = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=out)
    following = follow([], [job.pid])
    job.communicate()
    watch = Watch(load_rulebase(), following.follower, following.roots)
    told = [one for _ in range(3) for one in watch.turn().said]
    assert following.over()
    assert any(one.text_key.startswith("MEM") for one in (*told, *watch.finish()))
    following.follower.close()


def test_a_pipe_is_read_by_nobody_else(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sh")
    following = follow([str(tmp_path / "pipe.sh")])
    watch = Watch(load_rulebase(), following.follower, following.roots)
    watch.turn()
    into = os.open(tmp_path / "pipe.sh", os.O_WRONLY)
    for _ in range(5):
        os.write(into, OOM.encode())
        watch.turn()
        watch.material()  # while there is a writer, another reader would take what it writes
    os.close(into)
    watch.turn()
    watch.finish()  # without one it would wait for ever
    assert watch.status().lines == 5
    following.follower.close()
