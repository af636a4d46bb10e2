"""A log that is read as it grows says what it says when it is read at once, wherever the bytes are split."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.files.log.elsewhere import matchers
from probes.files.log.growing import COMPLETE, HALF, Growing
from probes.files.log.matcher import SMALL_ENGINES
from probes.files.log.patterns import Patterns
from probes.files.log.reader import FileReading, read_file
from tests.probes.files.log.specs import ALL

PATTERNS = Patterns(ALL)
MATCHER, _, _ = matchers(PATTERNS.texts, frozenset(), None, SMALL_ENGINES)

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/job/train.py", line 12, in main\n'
    "    step(batch)\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    "Of this GPU 1 GiB is free\n"
)
STEP = "[2026-01-02 03:04:{:02d}] iteration {:8d}/  1000 | elapsed time per iteration (ms): 812.3 |\n"
PIECES = (
    TRACEBACK,
    "".join(f"[rank{n}]: {line}\n" for line in TRACEBACK.splitlines() for n in (1, 3)),
    "\r 12%|#         | 12/100 [00:10<01:20,  1.10s/it]",
    "plain words\r\n\r\n",
    "\x1b[31mred\x1b[0m n07:412:901 [3] NCCL INFO Using network IB\n",
    "n07:412:901 [3] NCCL INFO comm 0x55d0 rank 3 nranks 8 cudaDev 3\n",
    "\0\0\0Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE\n",
    "显存 \udcff 行\n",
    "\n",
    "0: one\n1: two\n0: three\n",
    "a line without an end",
)


def whole(data: bytes, name: str = "job.log") -> FileReading:
    return read_file(data, name, PATTERNS, MATCHER, MATCHER)


def grown(parts: list[bytes], name: str = "job.log") -> Growing:
    log = Growing(name, PATTERNS, MATCHER)
    for number, part in enumerate(parts):
        log.feed(part, float(number))
    return log


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    return [data[a:b] for a, b in pairwise([0, *sorted(cuts), len(data)])]


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, list[int]]:
    numbers = st.tuples(st.integers(0, 59), st.integers(0, 9999))
    lines = st.one_of(st.sampled_from(PIECES), numbers.map(lambda n: STEP.format(*n)))
    data = "".join(draw(st.lists(lines, min_size=1, max_size=30))).encode("utf-8", "surrogateescape")
    return data, draw(st.lists(st.integers(0, len(data)), max_size=12))


@settings(max_examples=150, deadline=None)
@given(logs())
def test_any_split_gives_what_one_read_gives(log: tuple[bytes, list[int]]) -> None:
    data, cuts = log
    assert grown(split(data, cuts)).reading() == whole(data)


@settings(max_examples=40, deadline=None)
@given(logs())
def test_looking_on_the_way_changes_nothing(log: tuple[bytes, list[int]]) -> None:
    data, cuts = log
    growing = Growing("job.log", PATTERNS, MATCHER)
    read = 0
    for part in split(data, cuts):
        growing.feed(part, 0.0)
        read += len(part)
        # The split may be within a character, which a whole file does not end in.
        assert growing.reading() == whole(data[:read])


def test_every_event_is_given_as_it_comes_and_once() -> None:
    lines = [STEP.format(n % 60, n) for n in range(200)]
    growing = Growing("job.log", PATTERNS, MATCHER)
    seen = [event.fields["step"] for line in lines for event in growing.feed(line.encode(), 0.0)]
    assert seen == list(range(200))


def test_single_bytes() -> None:
    data = (TRACEBACK + STEP.format(1, 7) + "\r 12%|# | 12/100 [00:10<01:20,  1.10s/it]\r\n").encode()
    assert grown([data[i : i + 1] for i in range(len(data))]).reading() == whole(data)


def test_a_label_that_shows_late_counts_for_the_first_lines_too() -> None:
    data = "".join(
        f"{n % 4}: {line}\n" for n, line in enumerate(["CUDA out of memory. Tried to allocate 2.00 GiB"] * 9)
    )
    growing = Growing("job.log", PATTERNS, MATCHER)
    for line in data.splitlines(keepends=True):
        growing.feed(line.encode(), 0.0)
    assert [event.rank for event in growing.reading().events if event.name == "oom"] == [n % 4 for n in range(9)]


def test_half_a_line_is_told_when_nothing_follows() -> None:
    growing = grown([b"CUDA out of memory. Tried to allo", b"cate 2.00 GiB"])
    assert [event.name for event in growing.reading(1.0 + HALF / 2).events] == []
    assert growing.waits(1.0 + HALF / 2)
    assert [event.name for event in growing.reading(1.0 + HALF).events] == ["oom", "log.last_line"]
    assert growing.feed(b" of 79 GiB\n", 9.0)[0].source.text.endswith("79 GiB")
    assert [event.name for event in growing.reading(9.0).events] == ["oom", "log.last_line"]


def test_half_a_line_waits_to_be_told_only_where_it_shows_that_something_is_amiss() -> None:
    assert not grown([b"all is well\n" * 9, b"n07:412:901 [3] NCCL INFO Using net"]).ripe(1.0 + HALF)
    growing = grown([b"all is well\n", b"CUDA out of memory. Tried to allocate 2.0"])
    assert [growing.ripe(at) for at in (1.0, 1.0 + HALF, 2.0 + HALF)] == [False, True, True]
    growing.reading(2.0 + HALF)
    assert not growing.ripe(3.0 + HALF)
    growing.feed(b"0 GiB\nCUDA out of memory. Tried to allocate 3", 9.0)
    assert growing.ripe(9.0 + HALF)


def test_the_message_of_a_traceback_may_go_on_for_a_moment() -> None:
    growing = grown([TRACEBACK.encode()])
    names = [[event.name for event in growing.reading(at).events] for at in (COMPLETE / 2, COMPLETE)]
    assert names == [["oom", "log.last_line"], ["oom", "python.traceback", "log.last_line"]]


def test_lines_are_numbered_anew_when_the_file_is_replaced() -> None:
    growing = Growing("job.log", PATTERNS, MATCHER)
    growing.feed(b"one\ntwo\nhalf", 0.0)
    growing.ended(1.0)
    (event,) = growing.feed(b"CUDA out of memory. Tried to allocate 2.00 GiB\n", 2.0)
    assert event.source.line == 1
    assert growing.lines == 4
    assert [event.name for event in growing.reading().events] == ["oom", "log.last_line"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_other_encodings(encoding: str) -> None:
    data = (TRACEBACK + "行\n").encode(encoding)
    assert grown(split(data, [1, 3, 7, 50])).reading() == whole(data)


def test_an_error_file_of_torchrun() -> None:
    data = b'{"message": {"message": "x", "extraInfo": {"py_callstack": "Traceback (most recent call last):\\n  File \\"a.py\\", line 1, in f\\nValueError: no\\n"}}}'
    assert grown(split(data, [4, 30])).reading() == whole(data)
    assert [event.name for event in whole(data).events] == ["python.traceback", "log.last_line"]


def test_a_flood_of_steps_keeps_little() -> None:
    growing = Growing("job.log", PATTERNS, MATCHER, bulk=16, share=0.1)
    numbers = random.Random(1)
    for turn in range(300):
        text = "".join(STEP.format(numbers.randrange(60), turn * 50 + n) for n in range(50))
        growing.feed(text.encode(), turn * 0.25)
    reading = growing.reading()
    assert len(reading.events) < 100
    assert reading.counts["step"] == pytest.approx(15000, rel=0.1)
    assert max(event.fields["step"] for event in reading.events if event.name == "step") == 14999  # type: ignore[type-var]


OOM = "[2026-01-02 03:04:05] CUDA out of memory. Tried to allocate 2.00 GiB\n"


def test_an_event_is_made_once() -> None:
    growing = Growing("job.log", PATTERNS, MATCHER)
    (event,) = growing.feed(OOM.encode(), 0.0)
    growing.feed(b"a line\n", 1.0)
    assert growing.reading().events[0] is event
    assert growing.reading().events[0] is event


def test_an_event_is_made_again_when_more_is_known_of_its_log() -> None:
    growing = Growing("job.log", PATTERNS, MATCHER)
    growing.alone = False
    (event,) = growing.feed(OOM.encode(), 0.0)
    growing.rank = 3
    assert (event.rank, growing.reading().events[0].rank) == (None, 3)


def test_a_date_that_comes_late_counts_for_times_before_it() -> None:
    data = [OOM.replace("2026-01-02 ", "").encode(), b"plain\n" * 30, b"2025-11-30 04:00:00 a date\n"]
    growing = Growing("job.log", PATTERNS, MATCHER)
    for number in range(len(data)):
        growing.feed(data[number], float(number))
        assert growing.reading() == whole(b"".join(data[: number + 1]))
