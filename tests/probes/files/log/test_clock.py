"""Times of all shapes are read; what a time lacks comes from the file's other lines or from the file."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from probes.files.log.clock import Clock
from tests.probes.files.log.support import events


def seconds(*moment: int, fraction: float = 0.0) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp() + fraction  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[2024-09-03 15:56:55] iteration", seconds(2024, 9, 3, 15, 56, 55)),
        ("2025-02-11 09:31:02.114455: I x", seconds(2025, 2, 11, 9, 31, 2, fraction=0.114455)),
        ("2026-01-02T03:04:05Z x", seconds(2026, 1, 2, 3, 4, 5)),
        ("2026-01-02T03:04:05+02:00 x", seconds(2026, 1, 2, 1, 4, 5)),
        ("[2024-03-18 10:01:00,147] torch.distributed.run: [WARNING]", seconds(2024, 3, 18, 10, 1, 0, fraction=0.147)),
        ("[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607]", seconds(2026, 3, 21, 2, 7, 8, fraction=0.408271257)),
        ("E0612 01:14:57.061000 89 torch/x.py:1]", seconds(2026, 6, 12, 1, 14, 57, fraction=0.061)),
        ("[W1129 11:56:00.77 socket.cpp:1]", seconds(2025, 11, 29, 11, 56, 0, fraction=0.77)),
        ("[Fri Sep 11 02:11:40 2026] NVRM: Xid", seconds(2026, 9, 11, 2, 11, 40)),
        ("Feb 11 02:11:40 gpu1 kernel: x", seconds(2026, 2, 11, 2, 11, 40)),
        ("[Mar  5, 06:48:12] [0] x", seconds(2026, 3, 5, 6, 48, 12)),
        ("INFO 03-05 15:12:10 [loggers.py:127] x", seconds(2026, 3, 5, 15, 12, 10)),
        ("03/12/2024 10:11:12 - INFO - x", seconds(2024, 3, 12, 10, 11, 12)),
        ("21-12-02 10:11:05.110 : x", seconds(2021, 12, 2, 10, 11, 5, fraction=0.11)),
        ("09:12:03    INFO x", seconds(2026, 5, 20, 9, 12, 3)),
        ("  9%|9 | 22/246 [01:31<15:35,  4.18s/it]", None),
        ("[12345.678901] NVRM: Xid", None),
        ("2024-13-45 10:11:12 x", None),
        ("no time", None),
    ],
)
def test_shapes(text: str, expected: float | None) -> None:
    assert Clock(date(2026, 5, 20)).read(text) == (expected if expected is None else pytest.approx(expected, abs=1e-5))


def test_a_log_runs_over_new_year() -> None:
    clock = Clock(date(2025, 12, 31))
    assert clock.read("[E101 00:00:05.0 x.cpp:1]") == seconds(2026, 1, 1, 0, 0, 5)


def test_a_time_of_day_runs_over_midnight() -> None:
    clock = Clock(date(2026, 1, 1))
    assert clock.read("2026-05-20 23:59:58 x") == seconds(2026, 5, 20, 23, 59, 58)
    assert clock.read("00:00:01 x") == seconds(2026, 5, 21, 0, 0, 1)


def test_the_year_comes_from_any_dated_line() -> None:
    text = "2023-07-01 10:00:00 start\nE0701 11:00:00.5 1 x.py:1] CUDA out of memory. Tried to allocate 1 bytes\n"
    assert events(text)[0].time == seconds(2023, 7, 1, 11, 0, 0, fraction=0.5)
