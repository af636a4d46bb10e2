"""Whatever a log is wrapped in, the same events come out; what is damaged gives a warning and what could be read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from probes.files.log import LogFile, LogReading, read_logs
from tests.probes.files.log.specs import ALL
from tests.probes.files.log.support import events, one

LINE = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


def read(tmp_path: Path, data: bytes, limit: int | None = None) -> LogReading:
    path = tmp_path / "some.log"
    path.write_bytes(data)
    return read_logs([LogFile(path, "some.log")], ALL, limit=limit)


@pytest.mark.parametrize("kind", PACKERS)
def test_packing_is_told_by_content(kind: str, tmp_path: Path) -> None:
    reading = read(tmp_path, PACKERS[kind](LINE.encode()))
    assert [event.name for event in reading.events] == ["oom", "log.last_line"]
    assert reading.inputs[0].warnings == ()


@pytest.mark.parametrize("kind", PACKERS)
def test_a_damaged_archive_gives_its_start_and_a_warning(kind: str, tmp_path: Path) -> None:
    noise = os.urandom(3_000_000).hex()
    whole = PACKERS[kind]((LINE + "\n".join(noise[i : i + 100] for i in range(0, len(noise), 100))).encode())
    reading = read(tmp_path, whole[: len(whole) * 2 // 3])
    assert reading.events[0].name == "oom"
    assert "damaged" in " ".join(reading.inputs[0].warnings)


@pytest.mark.parametrize("kind", ["gzip", "xz", "zstd"])
def test_a_small_archive_that_breaks_off_gives_its_start(kind: str, tmp_path: Path) -> None:
    whole = PACKERS[kind]((LINE + os.urandom(200_000).hex()).encode())
    reading = read(tmp_path, whole[: len(whole) * 2 // 3])
    assert reading.events[0].name == "oom"
    assert "damaged" in " ".join(reading.inputs[0].warnings)


def test_a_bzip2_file_that_breaks_off_in_its_first_block_says_why_it_gives_nothing(tmp_path: Path) -> None:
    whole = bz2.compress((LINE + os.urandom(200_000).hex()).encode())
    reading = read(tmp_path, whole[: len(whole) * 2 // 3])
    assert reading.events == []
    assert "after 0 bytes of text: it ends within a block" in reading.inputs[0].warnings[0]


def test_members_of_gzip_are_one_text_whatever_fills_up_the_file(tmp_path: Path) -> None:
    halves = gzip.compress(b"one\n" * 1_000_000) + gzip.compress(LINE.encode()) + bytes(5000)
    reading = read(tmp_path, halves)
    (found,) = [event for event in reading.events if event.name == "oom"]
    assert found.source.line == 1_000_001
    assert reading.inputs[0].warnings == ()


def test_a_bomb_is_cut_off_with_a_warning(tmp_path: Path) -> None:
    reading = read(tmp_path, gzip.compress(LINE.encode() + b"a\n" * 4_000_000 + LINE.encode()), limit=1_000_000)
    assert [event.name for event in reading.events].count("oom") == 1
    assert "1,000,000 bytes" in reading.inputs[0].warnings[0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding: str) -> None:
    event = one(LINE.encode(encoding))
    assert event.source.text == LINE.strip()
    assert event.fields["requested"] == 2 << 30


def test_utf16_big_endian() -> None:
    assert one(b"\xfe\xff" + LINE.encode("utf-16-be")).source.line == 1


def test_zeros_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "sparse.log"
    with path.open("wb") as file:
        file.write(b"start\nCUDA out of mem")
        file.seek(3 << 30)
        file.write(b"ory. Tried to allocate 24 bytes\nend\n")
    found = read_logs([LogFile(path, "sparse.log")], ALL).events
    assert [(event.name, event.source.line) for event in found] == [("oom", 2), ("log.last_line", 3)]


def test_a_missing_file_is_a_warning_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LINE)
    names = ["a.log", "none.log"]
    reading = read_logs([LogFile(tmp_path / name, name) for name in names], ALL)
    assert [event.name for event in reading.events] == ["oom", "log.last_line"]
    assert [bool(info.warnings) for info in reading.inputs] == [False, True]


def test_empty_and_binary_files_are_no_trouble(tmp_path: Path) -> None:
    assert read(tmp_path, b"").events == []
    assert [e for e in read(tmp_path, os.urandom(400_000)).events if e.name != "log.last_line"] == []


def test_colours_and_titles_are_stripped_before_matching() -> None:
    event = one("\x1b[31mCUDA out\x1b[0m of \x1b]0;title\x07memory. Tried\x1b[K to allocate 1 bytes\x1b(B\n")
    assert event.source.text == "CUDA out of memory. Tried to allocate 1 bytes"


def test_c1_controls_are_stripped() -> None:
    assert one("CUDA \u009b31mout of memory. Tried to allocate 1 bytes\u0085\n").source.text.startswith("CUDA out")


def test_controls_never_reach_a_terminal() -> None:
    text = one("\x07\x08CUDA out of memory. Tried to allocate 1 bytes \u202e\x9b31m").source.text
    assert all(char.isprintable() or char == "\ufffd" for char in text)


def test_carriage_returns_part_units_but_not_lines() -> None:
    bar = "1%\r2%\r3% CUDA out of memory. Tried to allocate 1 bytes\rdone\n"
    found = events(bar + LINE)
    assert [(event.source.line, event.source.text[:4]) for event in found] == [(1, "3% C"), (2, "Runt")]


def test_dos_line_ends() -> None:
    found = events(("a\n" + LINE + "b\n" + LINE).replace("\n", "\r\n"))
    assert [(event.source.line, event.source.text) for event in found] == [(2, LINE.strip()), (4, LINE.strip())]


def test_a_line_without_end_is_read_at_its_start_only() -> None:
    long = LINE.strip() + " " + "x" * 5_000_000 + " Using network IB"
    assert [event.name for event in events(long + "\nUsing network Socket\n")] == ["oom", "network"]


def test_invalid_utf8_is_replaced() -> None:
    assert "\ufffd" in one(b"\xff\xfe\xfa CUDA out of memory. Tried to allocate 1 bytes \xe4\xb8"[1:]).source.text


def test_line_numbers_hold_over_many_segments() -> None:
    text = "".join(f"healthy line {n}\n" for n in range(200_000)) + LINE + "Using network IB"
    assert [event.source.line for event in events(text)] == [200_001, 200_002]
