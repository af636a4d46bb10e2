from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from doctor.session.watch.model import Mark
from doctor.session.watch.resume import MOST_MARKS, Marks, starts
from probes.live.follow.follower import Follower
from probes.live.follow.tail import Tail


class Reader:
    """Follows one path, as the watch does; a new one after each kill."""

    def __init__(self, path: Path, marks: tuple[Mark, ...] = ()) -> None:
        self.now, self.lines = 0.0, set[bytes]()
        self.follower = Follower(lambda: [str(path)], lambda: self.now)
        self.marks = Marks(marks)
        self._half: dict[str, bytes] = {}
        for start in starts(marks):
            tail = self.follower.add(start.path)
            assert isinstance(tail, Tail)
            tail.go_on(start.device, start.inode, start.offset)

    def turn(self) -> None:
        self.now += 1.0
        turn = self.follower.turn()
        for piece in turn.pieces:
            data = (b"\n" if piece.anew else b"") + piece.data
            *whole, half = (self._half.get(piece.path, b"") + data).split(b"\n")
            self.lines.update(whole)
            self._half[piece.path] = half
        if turn.more:
            self.turn()

    def saved(self) -> tuple[Mark, ...]:
        for one in self.follower.followed.values():
            self.marks.see(one.path, one.device, one.inode, one.offset)
        return self.marks.marks()


class Writer:
    """Writes numbered lines, and rotates by renaming, or by a copy that is then cut to nothing."""

    def __init__(self, path: Path, rng: random.Random, copies: bool) -> None:
        self.path, self.rng, self.copies, self.lines = path, rng, copies, 0
        self.kept = 20

    def write(self) -> None:
        with self.path.open("a") as file:
            for _ in range(self.rng.randrange(1, 20)):
                file.write(f"line {self.lines} {'x' * self.rng.randrange(80)}\n")
                self.lines += 1

    def rotate(self) -> None:
        for number in range(self.kept, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            if older.exists():
                older.rename(self.path.with_name(f"{self.path.name}.{number + 1}"))
        first = self.path.with_name(f"{self.path.name}.1")
        if self.copies:
            shutil.copy(self.path, first)
            os.truncate(self.path, 0)
        else:
            self.path.rename(first)
            self.path.touch()


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_line_is_lost_over_kills_while_files_rotate(tmp_path: Path, seed: int, copies: bool) -> None:
    rng = random.Random(seed)
    writer = Writer(tmp_path / "rank0.log", rng, copies)
    reader, read = Reader(writer.path), set[bytes]()
    writer.write()
    reader.turn()
    saved = reader.saved()
    for _ in range(60):
        act = rng.random()
        if act < 0.4:
            writer.write()
        elif act < 0.5 and writer.path.exists():
            if copies:
                reader.turn()  # what is cut before it is read is only in the copy, where nobody looks while following
            writer.rotate()
        elif act < 0.9:
            reader.turn()
            if rng.random() < 0.7:
                saved = reader.saved()
        else:
            read |= reader.lines
            reader.follower.close()
            for _ in range(rng.randrange(4)):  # while nobody follows
                writer.write()
                if rng.random() < 0.5:
                    writer.rotate()
            reader = Reader(writer.path, saved)
    writer.write()
    for _ in range(12):
        reader.turn()
    read |= reader.lines
    wanted = set(range(writer.lines))
    got = {int(line.split()[1]) for line in read if line.startswith(b"line ")}
    assert wanted - got == set()


def test_a_file_that_was_not_rotated_is_begun_with(tmp_path: Path) -> None:
    path = tmp_path / "rank0.log"
    path.write_text("a\nb\n")
    first = Reader(path)
    first.turn()
    found = path.stat()
    (start,) = starts(first.saved())
    assert (start.path, start.offset, start.inode) == (str(path), 4, found.st_ino)


def test_another_file_of_the_same_number_is_not_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "rank0.log"
    path.write_text("one\n" * 100)
    first = Reader(path)
    first.turn()
    saved = first.saved()
    first.follower.close()
    path.write_text("two\n" * 100)
    (tmp_path / "rank0.log.1").write_text("three\n" * 100)
    assert list(starts(saved)) == []


def test_few_rotated_files_are_remembered(tmp_path: Path) -> None:
    path, marks = tmp_path / "rank0.log", Marks()
    for number in range(50):
        path.write_text(f"{number}\n" * 200)
        found = path.stat()
        marks.see(str(path), found.st_dev, found.st_ino, 100)
        path.rename(tmp_path / f"rank0.log.{number}")
    assert len(marks.marks()) == MOST_MARKS
