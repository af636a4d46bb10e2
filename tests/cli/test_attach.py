"""`pdoctor attach` from the outside: pipes, files that come late, processes, Ctrl-C, and what ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.session.watch.test_watch import OOM, steps

PDOCTOR = [sys.executable, "-m", "doctor", "attach"]
PLAIN = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}


def attach(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PDOCTOR, *arguments], input=text, capture_output=True, text=True, env=PLAIN, timeout=240)


def test_a_pipe_is_followed_to_its_end() -> None:
    done = attach("-", text=steps(2, 1, 20) + OOM)
    assert done.returncode == 1
    assert done.stdout.count("stdin:23") >= 2  # as it came, and in the summary
    assert "rank 2" in done.stdout.splitlines()[1]
    assert "problem" in done.stdout


def test_a_healthy_pipe_ends_with_0_and_in_chinese() -> None:
    done = attach("-", "--lang", "zh", text=steps(0, 1, 40))
    assert done.returncode == 0
    assert done.stdout.strip().startswith("✓ 正常")


def test_a_log_that_comes_late_and_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    watching = subprocess.Popen(
        [*PDOCTOR, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN
    )
    assert watching.stderr is not None and watching.stdout is not None
    assert "watching" in watching.stderr.readline()
    assert "is not there yet" in watching.stderr.readline()
    path.write_text(steps(2, 1, 9) + OOM)
    assert "fatal" in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    rest, _ = watching.communicate(timeout=180)
    assert watching.returncode == 1
    assert "1 root cause" in rest


def test_a_process_is_followed_until_it_ends(tmp_path: Path) -> None:
    program = f"import sys; sys.stdin.readline(); print({OOM!r}, flush=True); sys.stdin.readline()"
    with (tmp_path / "job.out").open("w") as out:
        job = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=out, text=True)
    watching = subprocess.Popen(
        [*PDOCTOR, "--pid", str(job.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN
    )
    assert job.stdin is not None and watching.stdout is not None and watching.stderr is not None
    assert "watching" in watching.stderr.readline()
    job.stdin.write("fails\n")
    job.stdin.flush()
    told = watching.stdout.readline()
    job.communicate("ends\n")
    out_text, _ = watching.communicate(timeout=180)
    assert "MEM" in told
    assert watching.returncode == 1
    assert "MEM" in out_text


def test_what_cannot_be_followed_is_one_line(tmp_path: Path) -> None:
    for arguments, says in (
        ((str(tmp_path / "none" / "x.log"),), "no such file or folder"),
        (("--pid", "4194303"), "does not run"),
        (("--slurm", "812", "--for", "0"), "scontrol"),
        (("-q",), "name what to follow"),
    ):
        done = attach(*arguments)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert says in done.stderr


def test_for_some_seconds(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(steps(0, 1, 30))
    begun = time.monotonic()
    assert attach(str(tmp_path), "--for", "1").returncode == 0
    assert time.monotonic() - begun < 180
