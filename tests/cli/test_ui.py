"""`pdoctor ui` and `--tui` say what they need; in a real terminal they open, and leave it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.cli.terminal import LEFT, OPENED, in_terminal

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


def test_a_terminal_without_cursor_is_told_what_to_use(tmp_path: Path) -> None:
    shown = in_terminal("ui", SAMPLE, folder=tmp_path, TERM="dumb")
    assert shown.status == 2
    assert b"TERM=dumb" in shown.seen and b"\x1b" not in shown.seen


def test_in_a_terminal_it_opens_and_gives_the_terminal_back(tmp_path: Path) -> None:
    patch = tmp_path / "pdoctor-fix.patch"
    keys = [(b"[n]", b"6"), (b"[w]", b"w"), (patch.exists, b"q")]  # [n]: the hint once all is read
    shown = in_terminal("ui", SAMPLE, folder=tmp_path, keys=keys)
    assert shown.pressed == b"6wq"
    assert shown.status == 1  # a root cause was found
    assert patch.name in shown.after  # what was written is said once more
    assert OPENED in shown.seen and LEFT in shown.seen
