"""`pdoctor attach --tui` in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.cli.terminal import in_terminal
from tests.session.watch.test_watch import OOM, steps


def test_without_a_terminal_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attach", str(tmp_path), "--tui"]) == 2
    assert "terminal" in capsys.readouterr().err


def test_a_pipe_is_watched_while_keys_come_from_the_terminal(tmp_path: Path) -> None:
    """The job ends on the screen; who leaves has the report on the terminal."""
    job = (steps(2, 1, 20) + OOM).encode()
    shown = in_terminal(
        "attach", "-", "--tui", folder=tmp_path, stdin=job, columns=100, keys=[(b"the pipe is closed", b"q")]
    )
    assert shown.pressed == b"q"
    assert shown.status == 1
    assert "1 root cause" in shown.after and "stdin:23" in shown.after
