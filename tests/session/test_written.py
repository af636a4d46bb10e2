"""What is written takes the place of files, and of nothing else."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

from doctor.session.written import replace_file, write_new


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    names = [write_new(tmp_path, "fix.tar.zst", text).name for text in "abc"]
    assert names == ["fix.tar.zst", "fix-2.tar.zst", "fix-3.tar.zst"]
    assert [(tmp_path / name).read_text() for name in names] == ["a", "b", "c"]


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    """As root a file that is renamed over a device takes it from every program of the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    replace_file(pipe, b"the report")
    reader.join(10)
    assert read == ["the report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_one(tmp_path: Path) -> None:
    """/dev/stdout is a link, to a file where a shell redirects."""
    link, file = tmp_path / "stdout", tmp_path / "out"
    file.write_text("old")
    link.symlink_to(file)
    replace_file(link, b"new")
    assert link.is_symlink() and file.read_text() == "new"


def test_a_file_is_replaced_with_its_mode_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new", lasting=True)
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["report.html"]
