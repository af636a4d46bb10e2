from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.session.watch.jsonl import Lines


def line(name: str, key: str = "a", kind: str = "new", size: int = 0) -> str:
    told = {"announced": {"id": name, "kind": kind, "key": key}, "text": "x" * size}
    return json.dumps(told, separators=(",", ":"))


def ids(path: Path) -> list[str]:
    return [json.loads(text)["announced"]["id"] for text in path.read_text().splitlines()]


def test_each_announcement_is_a_line(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "said.jsonl")
    assert lines.write(line("1"), True)
    assert lines.write(line("2", "b"), False)
    assert ids(tmp_path / "said.jsonl") == ["1", "2"]


def test_lines_that_are_there_stay(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text('{"other": 1}')
    Lines(path).write(line("1"), False)
    assert path.read_text() == '{"other": 1}\n' + line("1") + "\n"


def test_what_was_said_before_a_kill_is_not_said_again(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    first = Lines(path)
    for name, key in (("1", "a"), ("2", "b"), ("3", "a")):
        first.write(line(name, key), True)
    second = Lines(path)
    second.write(line("3", "a"), True)
    second.write(line("2", "b"), True)
    second.write(line("4", "b"), True)
    assert ids(path) == ["1", "2", "3", "4"]


def test_what_comes_back_later_is_said_again(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    Lines(path).write(line("likely"), True)
    second = Lines(path)
    for name in ("certain", "likely", "certain"):
        second.write(line(name), False)
    assert ids(path) == ["likely", "certain", "likely", "certain"]


def test_a_storm_and_its_finding_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    first = Lines(path)
    first.write(line("1"), True)
    first.write(line("2", kind="storm"), True)
    second = Lines(path)
    second.write(line("1"), True)
    second.write(line("2", kind="storm"), True)
    assert ids(path) == ["1", "2"]


@pytest.mark.parametrize("cut", [1, 2, 12, 13, 14, 60])
def test_a_line_that_a_kill_cut_off_is_written_anew(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text(line("1") + "\n" + line("2", "b", size=50)[:cut])
    Lines(path).write(line("2", "b", size=50), True)
    assert ids(path) == ["1", "2"]


def test_several_that_write_to_one_file_leave_each_line_whole(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    code = f"""
import sys
from pathlib import Path
from doctor.session.watch.jsonl import Lines
for number in range(100):
    lines = Lines(Path({str(path)!r}))
    name = f"{{sys.argv[1]}} {{number}}"
    told = '{{"announced":{{"id":"' + name + '","kind":"new","key":"' + name + '"}},"text":"' + "x" * 20000 + '"}}'
    assert lines.write(told, False)
    lines.close()
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert sorted(ids(path)) == sorted(f"{writer} {number}" for writer in range(3) for number in range(100))


def test_a_half_line_is_left_alone_while_another_one_holds_the_file(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    lines = Lines(path)
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        half = line("other").encode()
        os.write(other.fileno(), half[:9])
        assert lines.write(line("1"), False)
        assert path.read_bytes().startswith(half[:9])
    path.write_bytes(path.read_bytes() + half[:9])  # cut off by a kill, and held by nobody
    assert lines.write(line("2"), False)
    assert path.read_text().endswith(f"\n{line('2')}\n")


def test_a_file_that_is_moved_or_deleted_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    lines = Lines(path)
    lines.write(line("1"), False)
    path.rename(tmp_path / "said.jsonl.1")
    lines.write(line("2"), False)
    path.unlink()
    lines.write(line("3"), False)
    assert ids(tmp_path / "said.jsonl.1") == ["1"]
    assert ids(path) == ["3"]


def test_a_folder_that_is_gone_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "mount"
    lines = Lines(folder / "said.jsonl")
    assert not lines.write(line("1"), True)
    assert lines.reason == "No such file or directory"
    folder.mkdir()
    assert lines.write(line("1"), True)
    assert lines.reason == ""
    assert ids(folder / "said.jsonl") == ["1"]


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    code = f"""
import resource, signal
from pathlib import Path
from doctor.session.watch.jsonl import Lines
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
lines = Lines(Path({str(path)!r}))
assert lines.write({line("1", size=3000)!r}, True)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
assert not lines.write({line("2", "b", size=3000)!r}, True)
assert lines.reason == "File too large", lines.reason
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert lines.write({line("2", "b", size=3000)!r}, True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ids(path) == ["1", "2"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_said(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text("")
    path.chmod(0o400)
    lines = Lines(path)
    assert not lines.write(line("1"), True)
    assert lines.reason == "Permission denied"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    lines = Lines(Path(f"/dev/fd/{writer}"))
    assert lines.write(line("1"), True)
    assert os.read(reader, 1000).decode() == line("1") + "\n"
    os.close(reader)
    os.close(writer)
