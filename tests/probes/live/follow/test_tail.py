"""A log that is rotated, copied, cut, deleted: every line once, whoever goes on with which file."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from probes.live.follow.tail import GONE
from tests.probes.live.follow.reader import Reader, add


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "train.log"


def renamed(log: Path, kept: int) -> None:
    """As logrotate does by default."""
    for number in range(kept, 0, -1):
        older = log.with_name(f"{log.name}.{number - 1}") if number > 1 else log
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number}"))
    log.touch()


def copied(log: Path, kept: int) -> None:
    """As logrotate does with `copytruncate`."""
    for number in range(kept, 1, -1):
        older = log.with_name(f"{log.name}.{number - 1}")
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number}"))
    shutil.copy(log, log.with_name(f"{log.name}.1"))
    os.truncate(log, 0)


@pytest.mark.parametrize("rotate", [renamed, copied])
@pytest.mark.parametrize("kept", [4, 6])
def test_few_generations_that_change_between_two_looks(
    log: Path, rotate: Callable[[Path, int], None], kept: int
) -> None:
    """The numbers of their files are used again and again."""
    log.touch()
    reader = Reader(str(log))
    data, lines = reader.read(), 0
    for _ in range(100):
        for _ in range(3):
            add(log, b"line %04d\n" % lines)
            lines += 1
            rotate(log, kept)
        data += reader.read()
    data += reader.read(3)
    assert data.splitlines() == [b"line %04d" % number for number in range(lines)]


def test_lines_that_were_cut_before_they_were_read_are_read_in_the_copy(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    data = reader.read()
    add(log, b"two\n")
    copied(log, 5)
    add(log, b"six\n")  # as long as what was read before
    assert data + reader.read(3) == b"one\ntwo\nsix\n"


def test_a_program_that_was_not_told_of_the_rotation_goes_on_with_the_old_file(log: Path) -> None:
    with log.open("ab", buffering=0) as old:
        old.write(b"one\n")
        reader = Reader(str(log.parent))
        data = reader.read(2)
        renamed(log, 5)
        data += reader.read(30)
        old.write(b"two\n")
        data += reader.read(30)
        add(log, b"new\n")
        data += reader.read(30)
        old.write(b"three\n")
        assert data + reader.read(2) == b"one\ntwo\nnew\nthree\n"


def test_a_late_line_does_not_part_another_one(log: Path) -> None:
    with log.open("ab", buffering=0) as old:
        old.write(b"one\n")
        reader = Reader(str(log))
        data = reader.read()
        renamed(log, 5)
        add(log, b"new ")
        data += reader.read(3)
        old.write(b"late\nhalf")
        data += reader.read(3)
        add(log, b"line\n")
        data += reader.read(3)
        old.write(b" line\n")
        assert data + reader.read(3) == b"one\nnew line\nlate\nhalf line\n"


@pytest.mark.parametrize("skew", [-3600, 3600])
def test_times_of_files_need_not_agree_with_the_clock(log: Path, skew: int) -> None:
    with log.open("ab", buffering=0) as old:
        old.write(b"one\n")
        reader = Reader(str(log))
        reader.now += skew
        data = reader.read(2)
        renamed(log, 5)
        data += reader.read(2)
        old.write(b"two\n")
        data += reader.read(2)
    add(log, b"three\n")
    assert data + reader.read(3) == b"one\ntwo\nthree\n"


def test_a_clock_that_was_set_back_between_two_rotations(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    data = reader.read()
    os.utime(log, (4e9, 4e9))
    renamed(log, 5)
    add(log, b"two\n")
    renamed(log, 5)
    add(log, b"three\n")
    assert data + reader.read(3) == b"one\ntwo\nthree\n"


def test_another_file_whose_name_begins_alike_is_no_rotated_one(log: Path) -> None:
    errors = log.with_name("train.log.err")
    log.write_bytes(b"one\n")
    reader = Reader(str(log.parent))
    data = reader.read(2)
    errors.write_bytes(b"error\n")
    data += reader.read(2)
    renamed(log, 5)
    add(log, b"two\n")
    add(errors, b"more\n")
    assert sorted((data + reader.read(5)).splitlines()) == [b"error", b"more", b"one", b"two"]


def test_what_was_rotated_is_read_in_parts(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    reader.read()
    renamed(log, 5)
    with log.open("wb") as file:
        file.truncate(1 << 20)
        file.seek(0)
        file.write(b"x" * (5 << 20) + b"\n")
    renamed(log, 5)
    add(log, b"end\n")
    sizes = [sum(len(piece.data) for piece in reader.turn().pieces) for _ in range(12)]
    assert max(sizes) <= 1 << 20
    assert sum(sizes) == (5 << 20) + 1 + len(b"end\n")


def test_a_rotation_while_the_file_is_not_open(tmp_path: Path) -> None:
    """There are fewer descriptors than files."""
    names = [tmp_path / f"{rank}.log" for rank in range(12)]
    reader, data, lines = Reader(str(tmp_path)), b"", 0
    reader.follower._most_open = 4
    for path in names:
        path.touch()
    reader.read(2)
    for _ in range(5):
        for path in names:
            add(path, b"line %04d\n" % lines)
            renamed(path, 4)
            add(path, b"line %04d\n" % (lines + 1))
            lines += 2
        data += reader.read(4)
    assert sorted(data.splitlines()) == [b"line %04d" % number for number in range(lines)]


def test_a_hole_is_passed_over(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    data = reader.read()
    os.truncate(log, 100 << 30)
    data += reader.read(3)
    with log.open("ab") as file:
        file.write(b"two\n")
    data += reader.read(3)
    assert data.replace(b"\0", b"") == b"one\ntwo\n"
    assert len(data) < 1 << 20


def test_a_deleted_file_that_nobody_writes_to_takes_no_room_on_the_disk(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    reader.read()
    log.unlink()
    reader.read(3 * int(GONE))
    assert reader.follower.followed[str(log)].open == 0


def test_a_file_that_became_a_pipe_is_not_opened(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    reader.read()
    log.unlink()
    os.mkfifo(log)
    reader.read(4 * int(GONE))
    with pytest.raises(OSError, match="No such device"):
        os.open(log, os.O_WRONLY | os.O_NONBLOCK)  # nobody reads it


def test_a_folder_that_may_not_be_looked_into_for_a_while(log: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may look everywhere")
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    data = reader.read()
    with log.open("ab", buffering=0) as file:
        log.parent.chmod(0)
        try:
            file.write(b"two\n")
            data += reader.read(5)
        finally:
            log.parent.chmod(0o700)
    assert reader.remarks == [("follow.unreadable", "train.log")]
    assert data + reader.read(3) == b"one\ntwo\n"


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE])
def test_a_file_system_that_fails_for_a_while_loses_nothing(
    log: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    log.touch()
    reader = Reader(str(log))
    data, real, failing = reader.read(), os.pread, False

    def pread(fd: int, size: int, offset: int) -> bytes:
        if failing:
            raise OSError(error, os.strerror(error))
        return real(fd, size, offset)

    monkeypatch.setattr(os, "pread", pread)
    for number in range(40):
        failing = 10 <= number < 30
        add(log, b"line %04d\n" % number)
        if number in (15, 20):
            renamed(log, 5)
        data += reader.read()
    data += reader.read(5)
    assert data.splitlines() == [b"line %04d" % number for number in range(40)]
    assert reader.remarks == [("follow.unreadable", "train.log")]


def test_all_that_came_into_the_file_before_is_read_when_another_one_takes_its_turn(log: Path) -> None:
    """A program that was not told of the rotation writes much between two looks."""
    add(log, b"first\n")
    reader = Reader(str(log))
    data = reader.read()
    renamed(log, 5)
    add(log, b"second\n")
    data += reader.read(2)
    add(log.with_name("train.log.1"), b"late line\n" * 100_000)
    data += reader.read()
    assert data.count(b"late line\n") == 100_000
    add(log.with_name("train.log.1"), b"later line\n" * 300_000)
    renamed(log, 5)
    add(log, b"third\n")
    data += reader.read(5)
    assert data.count(b"later line\n") == 300_000
    assert data.endswith(b"third\n")
