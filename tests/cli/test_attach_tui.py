"""`pdoctor attach --tui` in a real terminal."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.session.watch.test_watch import OOM, steps

ROOT = str(Path(__file__).parents[2])


def test_without_a_terminal_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attach", str(tmp_path), "--tui"]) == 2
    assert "terminal" in capsys.readouterr().err


def test_a_pipe_is_watched_while_keys_come_from_the_terminal(tmp_path: Path) -> None:
    """The job ends on the screen; who leaves has the report on the terminal."""
    job = tmp_path / "job.log"
    job.write_text(steps(2, 1, 20) + OOM)
    pid, terminal = pty.fork()
    if pid == 0:  # the process in the terminal
        os.environ.update(TERM="xterm-256color", PYTHONPATH=ROOT, LINES="24", COLUMNS="100")
        os.chdir(tmp_path)
        pipe, mouth = os.pipe()
        os.write(mouth, job.read_bytes())
        os.close(mouth)
        os.dup2(pipe, 0)
        os.execv(sys.executable, [sys.executable, "-m", "doctor", "attach", "-", "--tui"])
    seen = b""
    deadline = time.monotonic() + 60
    left = False
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            seen += os.read(terminal, 65536) if ready else b""
        except OSError:  # the other end is closed
            break
        if not left and b"the pipe is closed" in seen:
            os.write(terminal, b"q")
            left = True
    _, status = os.waitpid(pid, 0)
    assert left
    assert os.waitstatus_to_exitcode(status) == 1
    after = seen.partition(b"\x1b[?1049l")[2].decode()
    assert "1 root cause" in after and "stdin:23" in after
