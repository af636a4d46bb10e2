"""Times in logs: moved by days, written otherwise, put before each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

DATED = re.compile(
    r"(?<![\d-])(?P<day>20\d\d-\d\d-\d\d)(?P<between>[ T])(?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,9})?(?!\d)"
)
GLOG = re.compile(r"(?P<level>\[?[EWIF])(?P<day>[01]\d[0-3]\d)(?= \d\d:\d\d:\d\d\.\d)")

FORMATS = ("{day}T{clock}{dot}", "{day}T{clock}{dot}Z", "{slashed} {clock}{dot}", "{day} {clock}{comma}")
LINE = timedelta(milliseconds=20)


def shifted(text: str, days: int) -> str:
    """All dates of `text` moved; times of day stay, so that clocks without a date still agree."""

    def iso(match: re.Match[str]) -> str:
        try:
            day = datetime.strptime(match["day"], "%Y-%m-%d") + timedelta(days=days)
        except ValueError:
            return match[0]
        return match[0].replace(match["day"], day.strftime("%Y-%m-%d"), 1)

    def glog(match: re.Match[str]) -> str:
        try:
            day = datetime.strptime(f"2023{match['day']}", "%Y%m%d") + timedelta(days=days)
        except ValueError:
            return match[0]
        return match["level"] + day.strftime("%m%d")

    return GLOG.sub(glog, DATED.sub(iso, text))


def rewritten(text: str, form: str) -> str:
    """All times with a date in another of the usual formats."""

    def other(match: re.Match[str]) -> str:
        part = (match["part"] or "")[1:]
        return form.format(
            day=match["day"],
            slashed=match["day"].replace("-", "/"),
            clock=match["clock"],
            dot=f".{part}" if part else "",
            comma=f",{part}" if part else "",
        )

    return DATED.sub(other, text)


def running(lines: Sequence[str]) -> list[str] | None:
    """A time for each line that agrees with the times inside; None if the lines themselves tell no time."""
    own = [_time(line) for line in lines]
    first = next((time for time in own if time), None)
    if first is None or sum(time is not None for time in own) < 0.3 * len(own):
        return None
    now, times = first, []
    for time in own:
        now = max(time, now) if time else now + LINE
        times.append(now.strftime("%Y-%m-%dT%H:%M:%S.%f000Z"))
    return times


def _time(line: str) -> datetime | None:
    match = DATED.search(line)
    if not match:
        return None
    try:
        stamp = datetime.strptime(f"{match['day']} {match['clock']}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    return stamp.replace(tzinfo=UTC) + timedelta(seconds=float("0" + (match["part"] or ".0").replace(",", ".")))
