"""No line is lost and none is read twice, whatever happens to a file while it is followed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from probes.live.follow import Files, Follower
from probes.live.follow.follower import EACH
from probes.live.follow.stream import Stream
from probes.live.follow.tail import GONE
from tests.probes.live.follow.reader import Reader, add

WRITER = Path(__file__).with_name("writer.py")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "train.log"


@pytest.mark.parametrize("how", ["rename", "fast", "truncate"])
def test_every_line_of_a_writer_that_rotates_is_read_once(log: Path, how: str) -> None:
    lines = 6000 if how != "truncate" else 2000
    follower = Follower(Files([str(log)]), time.time)
    writer = subprocess.Popen([sys.executable, str(WRITER), str(log), str(lines), how], stdin=subprocess.PIPE)
    assert writer.stdin is not None
    data, over, cuts = b"", False, 0
    while not over:
        over = writer.poll() is not None
        turn = follower.turn()
        over = over and not turn.more and not turn.pieces
        data += b"".join(piece.data for piece in turn.pieces)
        if how == "truncate" and b"line %08d of the log\n" % (400 * cuts + 400) in data:
            cuts += 1
            with suppress(BrokenPipeError):
                os.write(writer.stdin.fileno(), b"\n")
        time.sleep(0.01)
    writer.stdin.close()
    follower.close()
    assert writer.returncode == 0
    assert data.replace(b"\0", b"").splitlines() == [b"line %08d of the log" % n for n in range(lines)]


def test_what_is_there_and_what_comes(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    assert reader.read() == b"one\n"
    with log.open("ab") as file:
        file.write(b"tw")
        file.flush()
        assert reader.read() == b"tw"
        file.write(b"o\n")
    assert reader.read(3) == b"o\n"


def test_a_late_file_is_read_from_its_beginning(log: Path) -> None:
    reader = Reader(str(log), str(log.parent / "rank*.txt"))
    assert reader.read(2) == b""
    log.write_bytes(b"late\n")
    (log.parent / "rank3.txt").write_bytes(b"new\n")
    assert sorted(reader.read(2).splitlines()) == [b"late", b"new"]
    assert reader.remarks == []


def test_a_folder_that_comes_late_is_followed_as_one_from_its_first_file_on(log: Path) -> None:
    reader = Reader(str(log.parent / "logs"))
    assert reader.read(2) == b""
    (log.parent / "logs" / "attempt_0").mkdir(parents=True)
    assert reader.read(1) == b""
    (log.parent / "logs" / "attempt_0" / "stdout.log").write_bytes(b"first\n")
    assert reader.read(4) == b"first\n"
    assert reader.remarks == []


def test_a_fifo_that_comes_late_is_read_as_one(log: Path) -> None:
    reader = Reader(str(log))
    assert reader.read(2) == b""
    os.mkfifo(log)
    assert reader.read(2) == b""
    with log.open("wb", buffering=0) as writer:
        writer.write(b"first\n")
        assert reader.read(2) == b"first\n"
    assert reader.remarks == []


def test_a_folder_in_the_place_of_a_file_that_was_read_is_said_to_be_none(log: Path) -> None:
    log.write_bytes(b"line\n")
    reader = Reader(str(log))
    assert reader.read(1) == b"line\n"
    log.unlink()
    log.mkdir()
    reader.read(12)
    assert reader.remarks == [("follow.gone", "train.log"), ("follow.unreadable", "train.log")]


def test_a_folder_gives_its_logs_and_no_packed_or_rotated_ones(log: Path) -> None:
    deep = log.parent / "attempt_0" / "2" / "stdout.log"
    deep.parent.mkdir(parents=True)
    deep.write_bytes(b"deep\n")
    log.write_bytes(b"log\n")
    for name in ("train.log.1", "train.log.2.gz", "model.pt", "train.log-20260102"):
        (log.parent / name).write_bytes(b"old\n")
    assert sorted(Reader(str(log.parent)).read(2).splitlines()) == [b"deep", b"log"]


def test_one_file_under_two_names_is_read_once(log: Path) -> None:
    log.write_bytes(b"once\n")
    (log.parent / "latest.log").symlink_to(log)
    assert Reader(str(log.parent)).read(2) == b"once\n"


def test_a_file_that_is_cut_and_written_anew_between_two_looks(log: Path) -> None:
    log.write_bytes(b"first job\n")
    reader = Reader(str(log))
    assert reader.read() == b"first job\n"
    log.write_bytes(b"second job, which writes more\n")
    (piece,) = reader.turn().pieces
    assert piece.anew
    assert piece.data == b"second job, which writes more\n"


def test_a_hole_that_copy_and_truncate_leaves_is_passed_over(log: Path) -> None:
    with log.open("wb", buffering=0) as file:
        file.write(b"x" * 300_000 + b"\n")
        reader = Reader(str(log))
        assert len(reader.read(2)) == 300_001
        os.truncate(log, 0)
        file.write(b"after\n")
        assert reader.read(2).lstrip(b"\0") == b"after\n"


def test_a_deleted_file_is_said_once_and_taken_up_again(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log))
    reader.read()
    log.unlink()
    reader.read(int(GONE) + 5)
    assert reader.remarks == [("follow.gone", "train.log")]
    log.write_bytes(b"two\n")
    assert reader.read(4) == b"two\n"


def test_a_file_without_permission_is_said_once(log: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    log.write_bytes(b"one\n")
    log.chmod(0)
    reader = Reader(str(log))
    assert reader.read(8) == b""
    assert reader.remarks == [("follow.unreadable", "train.log")]
    log.chmod(0o600)
    assert reader.read(4) == b"one\n"


def test_a_large_file_does_not_keep_others_waiting(log: Path) -> None:
    log.write_bytes(b"x" * (3 * EACH))
    (log.parent / "z.log").write_bytes(b"small\n")
    reader = Reader(str(log.parent))
    first = reader.turn()
    assert first.more
    assert [len(piece.data) for piece in first.pieces if piece.path.endswith("z.log")] == [6]
    assert len(reader.read(4)) == 2 * EACH


def test_a_file_that_was_renamed_while_nobody_followed_is_found_again(log: Path) -> None:
    log.write_bytes(b"one\n")
    before = Reader(str(log))
    before.read()
    tail = before.follower.followed[str(log)]
    log.rename(log.with_name("train.log.1"))
    with log.with_name("train.log.1").open("ab") as file:
        file.write(b"two\n")
    log.write_bytes(b"three\n")
    after = Reader()
    fresh = after.follower.add(str(log))
    assert fresh is not None
    fresh.go_on(tail.device, tail.inode, tail.offset)  # type: ignore[union-attr]
    assert after.read(3) == b"one\ntwo\nthree\n"


def test_a_pipe_ends_when_its_writer_closes_it() -> None:
    out, into = os.pipe()
    reader = Reader(streams=(Stream("-", out),))
    os.write(into, b"one\n")
    assert reader.read(2) == b"one\n"
    os.close(into)
    assert reader.turn().ended == ["-"]
    os.close(out)


def test_a_pipe_among_thousands_of_files_is_read(tmp_path: Path) -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        os.mkfifo(tmp_path / "pipe")
        reader = Reader(str(tmp_path / "pipe"))
        reader.turn()
        into = os.open(tmp_path / "pipe", os.O_WRONLY)
        os.write(into, b"one\n")
        assert reader.read() == b"one\n"
        os.close(into)
    finally:
        for number in held:
            os.close(number)


def test_a_pipe_that_was_full_is_read_again_at_once() -> None:
    out, into = os.pipe()
    reader = Reader(streams=(Stream("-", out),))
    os.write(into, b"x" * (1 << 16))
    assert reader.turn().more
    os.write(into, b"little\n")
    assert not reader.turn().more
    os.close(into)
    os.close(out)


@pytest.mark.parametrize("anew", [False, True])
def test_a_fifo_is_read_on_by_the_next_job(tmp_path: Path, anew: bool) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader, data = Reader(str(path)), b""
    reader.turn()
    for job in (b"first\n", b"second\n"):
        into = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(into, job)
        data += reader.read()
        os.close(into)
        assert reader.turn().ended == [str(path)]
        assert reader.turn().ended == []
        if anew:
            path.unlink()
            os.mkfifo(path)
            reader.turn()
    assert data == b"first\nsecond\n"


def test_a_fifo_waits_for_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe.log"
    os.mkfifo(path)
    reader = Reader(str(path))
    assert reader.turn().ended == []
    into = os.open(path, os.O_WRONLY)
    os.write(into, b"one\n")
    assert reader.read() == b"one\n"
    os.close(into)
    assert reader.turn().ended == [str(path)]


def test_a_folder_that_is_gone_is_one_remark(tmp_path: Path) -> None:
    folder = tmp_path / "mount"
    folder.mkdir()
    for rank in range(50):
        (folder / f"{rank}.log").write_bytes(b"line\n")
    reader = Reader(str(tmp_path))
    reader.read(2)
    shutil.rmtree(folder)
    remarks = [remark for _ in range(int(GONE) + 5) for remark in reader.turn().remarks]
    assert [(remark.key, remark.more) for remark in remarks] == [("follow.gone", 49)]


def test_of_too_many_files_those_are_followed_that_were_written_to_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probes.live.follow.follower.MOST_FILES", 6)
    reader, data = Reader(str(tmp_path)), b""
    for attempt in range(5):
        for rank in range(3):
            path = tmp_path / f"attempt_{attempt}" / f"{rank}.log"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"attempt %d rank %d\n" % (attempt, rank))
            os.utime(path, (1_000_000 * attempt, 1_000_000 * attempt))
        data += reader.read(2)
    again = tmp_path / "attempt_0" / "0.log"
    add(again, b"once more\n")
    data += reader.read(2)
    lines = data.splitlines()
    assert len(lines) == len(set(lines)) == 16
    assert len(reader.follower.followed) == 6
    assert [key for key, _ in reader.remarks] == ["follow.too_many"]


def test_logs_of_ranks_whose_names_look_rotated_are_followed_when_they_grow(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"launcher\n")
    for rank in range(3):
        (tmp_path / f"log.{rank}").write_bytes(b"rank %d\n" % rank)
    reader = Reader(str(tmp_path))
    assert reader.read(2) == b"launcher\n"
    add(tmp_path / "log.1", b"more\n")
    assert reader.read(2) == b"rank 1\nmore\n"


def test_a_log_that_was_moved_aside_is_not_read_again_under_its_new_name(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(str(log.parent))
    reader.read(2)
    log.rename(log.with_name("train_before.log"))
    log.write_bytes(b"two\n")
    assert reader.read(5) == b"two\n"
    add(log.with_name("train_before.log"), b"late\n")
    assert reader.read(3) == b"late\n"


def test_what_pdoctor_writes_itself_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_bytes(b"line\n")
    (tmp_path / "said.log").write_bytes(b"CUDA out of memory\n")
    follower = Follower(Files([str(tmp_path)]), time.time, apart=lambda path, found: path.endswith("said.log"))
    assert [piece.data for piece in follower.turn().pieces] == [b"line\n"]


def test_a_tree_without_logs_is_looked_through_in_parts(tmp_path: Path) -> None:
    """By a clock that goes on by a millisecond whenever it is asked."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.001
        return now[0]

    (tmp_path / "rank0.log").write_text("line\n")
    follower = Follower(Files([str(tmp_path)]), clock)
    assert [piece.data for piece in follower.turn().pieces] == [b"line\n"]
    for number in range(300):
        (tmp_path / f"tokens{number}.npy").touch()
    (tmp_path / "z.log").write_text("another\n")
    now[0] += 60.0
    turns = 0
    while len(follower.followed) < 2:
        begun, turns = now[0], turns + 1
        follower.turn()
        assert now[0] - begun < 0.2
    assert turns > 2
    follower.close()
