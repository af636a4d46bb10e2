from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from doctor.recorder.pipe import path_of
from doctor.session import inputs
from doctor.session.inputs import InputError, collect


def names(folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path, _ in collect([folder]).files]


def test_files_below_a_folder_come_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b.log", "a/2.log", "a/1.log", "a.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert names(tmp_path) == ["a/1.log", "a/2.log", "a.log", "b.log"]


def test_version_control_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref")
    (tmp_path / "job.log").write_text("x")
    assert names(tmp_path) == ["job.log"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("x")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    found = collect([tmp_path])
    assert [Path(path).name for path, _ in found.files] == ["job.log"]
    assert [note.key for note in found.notes] == ["input.unreadable"]


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("x")
    assert len(collect([tmp_path / "job.log", tmp_path]).files) == 1


def test_pipes_and_sockets_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(path_of(str(tmp_path / "rank0.jsonl")))  # that of pdoctor's own recorder is no news
    with socket.socket(socket.AF_UNIX) as server:
        # The path of a socket has a small limit, so it is bound by its relative name.
        here = os.getcwd()
        os.chdir(tmp_path)
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        found = collect([tmp_path])
    assert [note.key for note in found.notes] == ["input.special", "input.special"]


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    assert [note.key for note in collect([tmp_path]).notes] == ["input.empty_folder"]


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        collect([tmp_path / "no"])
    assert caught.value.note.key == "input.missing"


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.log").write_text("x")
    found = collect([tmp_path])
    assert len(found.files) == 3
    assert [note.key for note in found.notes] == ["input.too_many"]
