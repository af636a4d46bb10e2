"""What is written takes the place of files, and of nothing else."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.session.watch.replace import replace_file
from doctor.session.written import write_new
from doctor.views.export import write_whole


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    names = [write_new(tmp_path, "fix.tar.zst", text).name for text in "abc"]
    assert names == ["fix.tar.zst", "fix-2.tar.zst", "fix-3.tar.zst"]
    assert [(tmp_path / name).read_text() for name in names] == ["a", "b", "c"]


@pytest.mark.parametrize("write", [write_whole, lambda path, text: replace_file(path, text.encode())])
def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    """As root a file that is renamed over a device takes it from every program of the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(pipe, "the report")
    reader.join(10)
    assert read == ["the report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
