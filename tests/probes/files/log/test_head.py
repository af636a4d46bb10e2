"""The first lines of a log tell its labels, its own rank and its date."""

from __future__ import annotations

from datetime import UTC, date, datetime

from probes.files.log.head import HEAD_LINES, Head
from probes.files.log.prefix import Style

FILE = date(2026, 1, 2)


def test_labels() -> None:
    assert Head(b"[rank3]: one\ntwo\n").labelled
    assert Head(b"0: one\n1: two\n0: three\n").style is Style.SRUN
    assert not Head(b"[2026-01-02 03:04:05] one\ntwo\n").labelled


def test_the_rank_that_a_log_calls_its_own() -> None:
    assert Head(b"global rank: 3\nlocal rank: 1\nRANK=3\n").ranks == {3}
    assert Head(b"rank 3 waits\n").ranks == frozenset()


def test_the_day_is_the_first_that_is_stated() -> None:
    head = Head(b"12:00:00 no date\n2025-11-30 12:00:01 x\n2025-12-01 00:00:00 y\n")
    assert head.day(FILE) == date(2025, 11, 30)
    assert Head(b"12:00:00 no date\n").day(FILE) is None


def test_a_date_without_a_year_is_that_of_the_file() -> None:
    head = Head(b"INFO 11-30 15:12:10 [loggers.py:127] x\n")
    assert [head.day(date(year, 12, 1)) for year in (2025, 2024, 2025)] == [
        date(2025, 11, 30),
        date(2024, 11, 30),
        date(2025, 11, 30),
    ]


def test_the_first_time() -> None:
    head = Head(b"none here\n12:00:00 x\n13:00:00 y\n")
    assert head.time(FILE) == datetime(2026, 1, 2, 12, tzinfo=UTC).timestamp()
    assert head.time(date(2026, 1, 3)) == datetime(2026, 1, 3, 12, tzinfo=UTC).timestamp()
    assert Head(b"none here\n").time(FILE) is None


def test_only_the_first_lines_count() -> None:
    head = Head(b"x\n" * HEAD_LINES + b"[rank3]: RANK=3\n")
    assert len(head.lines) == HEAD_LINES
    assert not head.labelled and not head.ranks
