"""A log is opened at any line, at once, and without keeping it."""

from pathlib import Path

import pytest

from doctor.session import log_window
from doctor.session.log_window import LONGEST, LogWindow


def test_lines_are_found_by_number_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_window, "BLOCK", 64)
    path = tmp_path / "log"
    path.write_text("".join(f"line {number} {'x' * (number % 90)}\n" for number in range(1, 500)))
    window = LogWindow(path)
    for first in (1, 2, 63, 64, 250, 498, 499):
        found = window.lines(first, 3)
        assert [line.split()[1] for line in found] == [str(n) for n in range(first, min(first + 3, 500))]
    window.close()


def test_a_block_that_ends_with_a_line_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_window, "BLOCK", 8)
    path = tmp_path / "log"
    path.write_bytes(b"1234567\n" * 4 + b"last")
    window = LogWindow(path)
    assert window.lines(4, 5) == ["1234567", "last"]
    assert window.lines(1, 1) == ["1234567"]


def test_beyond_the_end_there_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\ntwo\n")
    window = LogWindow(path)
    assert window.lines(3, 10) == []
    assert window.lines(-5, 1) == ["one"]


def test_a_line_of_gigabytes_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * (3 * LONGEST) + b"\nnext\n\xff\n")
    assert [len(line) for line in LogWindow(path).lines(1, 3)] == [LONGEST, 4, 1]
