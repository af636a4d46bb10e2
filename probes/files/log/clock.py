"""Reads the time of a line, in any of the shapes that training jobs, NCCL, glog, syslog and dmesg write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TypeAlias

HAS_TIME = re.compile(r"\d\d:\d\d:\d\d")
TIME = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
AHEAD = timedelta(days=60)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = r"(?P<name>[A-Z][a-z]{2})"

SHAPES: tuple[re.Pattern[str], ...] = (
    re.compile(
        r"(?P<y>(?:19|20)\d\d)[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[ T_,-]{1,2}" + TIME + r" ?(?P<z>Z\b|[+-]\d\d:?\d\d\b)?"
    ),
    re.compile(MONTH + r" +(?P<d>\d{1,2}) " + TIME + r" (?P<y>20\d\d)"),  # ctime, dmesg -T
    re.compile(r"(?P<mo>\d\d)/(?P<d>\d\d)/(?P<y>20\d\d),? " + TIME),  # Hugging Face, US order
    re.compile(r"\b[IWEFCD](?P<mo>\d{1,2})(?P<d>\d\d) " + TIME),  # glog: c10 does not pad the month
    re.compile(r"\b(?P<y2>[12]\d)[-/](?P<mo>\d\d)[-/](?P<d>\d\d) " + TIME),
    re.compile(r"(?<![\d-])(?P<mo>\d\d)[-/](?P<d>\d\d) " + TIME),  # vLLM
    re.compile(MONTH + r" +(?P<d>\d{1,2}),? " + TIME),  # syslog
    re.compile(r"^\W{0,3}" + TIME + r"(?=[\s\])|]|$)"),  # time of day alone
)

State: TypeAlias = tuple[date, float, bool]


@dataclass(slots=True)
class Clock:
    """Completes times that lack their year or day. Times without a zone count as UTC.

    `day` is the last full date seen in the file; it begins with the date of the file itself. `dated` tells
    whether any line had a date; `whole` whether the last time that was read told day and year by itself.
    """

    day: date
    last: float = 0.0
    dated: bool = False
    whole: bool = False

    @property
    def state(self) -> State:
        """All that decides on how a time is completed."""
        return (self.day, self.last, self.dated)

    @state.setter
    def state(self, state: State) -> None:
        self.day, self.last, self.dated = state

    def read(self, text: str) -> float | None:
        """Seconds since the epoch of the first time in the first 160 characters, or None."""
        head = text[:160]
        if not HAS_TIME.search(head):
            return None
        for shape in SHAPES:
            if match := shape.search(head):
                try:
                    return self._seconds(match.groupdict())
                except (ValueError, OverflowError, StopIteration):
                    continue
        return None

    def _seconds(self, part: dict[str, str | None]) -> float:
        day = self._day(part)
        fraction = float("0." + (part.get("f") or "0"))
        zone = _zone(part.get("z"))
        moment = datetime(
            day.year,
            day.month,
            day.day,
            int(part["h"] or 0),
            int(part["m"] or 0),
            min(int(part["s"] or 0), 59),
            tzinfo=zone,
        )
        seconds = moment.timestamp() + fraction
        if "d" not in part and seconds < self.last - 12 * 3600:
            seconds += 86400.0  # past midnight
        self.day = (datetime.fromtimestamp(seconds, UTC)).date()
        self.last = seconds
        self.dated = self.dated or "d" in part
        self.whole = "y" in part or "y2" in part
        return seconds

    def _day(self, part: dict[str, str | None]) -> date:
        if "d" not in part:
            return self.day
        name = part.get("name")
        month = int(part.get("mo") or 0) if name is None else MONTHS.index(name.lower()) + 1
        number = int(part["d"] or 0)
        if year := part.get("y"):
            return date(int(year), month, number)
        if short := part.get("y2"):
            return date(2000 + int(short), month, number)
        # A log may run over New Year, but is not much younger than the last known day.
        years = (self.day.year + 1, self.day.year, self.day.year - 1, self.day.year - 2)
        return next(day for day in (_date(year, month, number) for year in years) if day and day <= self.day + AHEAD)


def _date(year: int, month: int, number: int) -> date | None:
    try:
        return date(year, month, number)
    except ValueError:
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "")
    return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
