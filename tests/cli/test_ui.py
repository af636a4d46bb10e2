"""`pdoctor ui` and `--tui` say what they need; in a real terminal they open, and leave it as it was."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from doctor.cli.main import run

SAMPLE = str(Path(__file__).parents[2] / "fixtures" / "sample" / "job")


@pytest.mark.parametrize("arguments", [["ui", SAMPLE], ["analyze", SAMPLE, "--tui"], ["run", "--tui"]])
def test_without_a_terminal_it_says_what_to_do(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "terminal" in capsys.readouterr().err


def test_it_does_not_go_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", SAMPLE, "--tui", "--json"]) == 2
    assert "--tui does not go with --json" in capsys.readouterr().err


def test_a_path_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ui", "/no/such/job"]) == 2
    assert "/no/such/job" in capsys.readouterr().err


def test_a_terminal_without_cursor_is_told_what_to_use() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", PYTHONPATH=str(Path(__file__).parents[2]))
        os.execv(sys.executable, [sys.executable, "-m", "doctor", "ui", SAMPLE])
    seen = b""
    try:
        while piece := os.read(terminal, 65536):
            seen += piece
    except OSError:  # the other end is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert b"TERM=dumb" in seen and b"\x1b" not in seen


def test_in_a_terminal_it_opens_and_gives_the_terminal_back(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # the process in the terminal
        os.environ.update(TERM="xterm-256color", PYTHONPATH=str(Path(__file__).parents[2]), LINES="24", COLUMNS="80")
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "doctor", "ui", SAMPLE])
    seen = b""
    deadline = time.monotonic() + 60
    asked = written = left = False
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            seen += os.read(terminal, 65536) if ready else b""
        except OSError:  # the other end is closed
            break
        if not asked and b"[n]" in seen:  # the hint once all is read
            os.write(terminal, b"6")
            asked = True
        if not written and b"[w]" in seen:
            os.write(terminal, b"w")
            written = True
        if not left and (tmp_path / "pdoctor-fix.patch").exists():
            os.write(terminal, b"q")
            left = True
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1  # a root cause was found
    assert b"pdoctor-fix.patch" in seen.partition(b"\x1b[?1049l")[2]  # what was written is said once more
    assert b"\x1b[?1049h" in seen and b"\x1b[?1049l" in seen  # the alternate screen, and back from it
