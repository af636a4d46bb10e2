"""The first lines of a log, and what they say of the whole file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import cached_property

from probes.files.log.clock import Clock
from probes.files.log.prefix import split, style_of
from probes.files.log.segments import text_of

HEAD_LINES = 60
HEAD_BYTES = 1 << 16
TIMED = 20
OWN_RANK = re.compile(r"\bglobal[_ ]rank[ =:]{1,3}(\d+)\b|\brank=(\d+), ?local_rank=\d+|\bRANK=(\d+)\b")


class Head:
    """The first lines of `units`. A log that grows is asked the same again and again, so that
    the answers are remembered."""

    def __init__(self, units: bytes = b"") -> None:
        first = units[:HEAD_BYTES].split(b"\n", HEAD_LINES)[:HEAD_LINES]
        self.lines = [text_of(unit[:512]) for unit in first]
        self.style = style_of(self.lines)
        self._day: tuple[date, date | None] | None = None
        self._time: tuple[date, float | None] | None = None

    @cached_property
    def labelled(self) -> bool:
        """Has any line a label?"""
        return any(split(line, self.style).label for line in self.lines)

    @cached_property
    def ranks(self) -> frozenset[int]:
        """The ranks that are said to be the log's own."""
        found = (match for line in self.lines for match in OWN_RANK.finditer(line))
        return frozenset(int(next(number for number in match.groups() if number)) for match in found)

    def day(self, written: date) -> date | None:
        """The first date that is stated, its year completed for a file of the day `written`."""
        if self._day is None or self._day[0] != written:
            self._day = (written, stated_day(self.lines, written))
        return self._day[1]

    def time(self, day: date) -> float | None:
        """The first time, in seconds since the epoch; one without a date is of `day`."""
        if self._time is None or self._time[0] != day:
            times = (Clock(day).read(line) for line in self.lines[:TIMED])
            self._time = (day, next((time for time in times if time is not None), None))
        return self._time[1]


def stated_day(lines: Iterable[str], written: date) -> date | None:
    """The first date in `lines`."""
    clock = Clock(written)
    for line in lines:
        clock.read(line)
        if clock.dated:
            return clock.day
    return None
