"""What the columns of a table mean, told by their headings and by what stands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from probes.files.table.cells import Table, to_number, unit_of

UNITS = {
    "ns": 1e-9,
    "nsec": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
}
"""Seconds in one of the unit."""

_UNIT = re.compile(
    r"(?:^|[\s_(\[./-])(?P<unit>ns|us|µs|ms|msec|usec|nsec|s|sec|secs|seconds?|milliseconds?|microseconds?"
    r"|nanoseconds?)(?=$|[\s_)\]/.-])",
    re.IGNORECASE,
)
_LONG = {"millisecond": "ms", "microsecond": "us", "nanosecond": "ns"}
_TIME = re.compile(
    r"time|dur|elapsed|busy|total|self|avg|average|mean|median|latency|exposed|overlap|wall|cuda|gpu|cpu"
    r"|per_?(?:iter|step)",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"^(?:name|op|ops|operation|operator|kernel(?:[ _]name)?|kind|event|function|api|phase|region|category"
    r"|stage|what|item|activity|collective|type|section|module)s?$",
    re.IGNORECASE,
)
_COUNT = re.compile(r"call|count|num\b|instances|#|\bn\b|occurrences|invocations", re.IGNORECASE)
_OVERLAP = re.compile(r"overlap|hidden|concurrent", re.IGNORECASE)
_EXPOSED = re.compile(r"exposed|non.?overlap|not.?overlap|visible|unhidden", re.IGNORECASE)
_NOT_SUM = re.compile(
    r"\bavg|average|mean|median|\bmin\b|\bmax\b|stddev|std|p\d\d|percent|ratio|%|per[_ ]?call", re.IGNORECASE
)
_CPU = re.compile(r"\bcpu\b|\bhost\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of times: its index and how many seconds one of its unit is."""

    index: int
    scale: float
    title: str


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table of times; those that are absent are None.

    `time` is the time that an operation takes in all, on the device where the table tells the two apart; `host` is
    the time on the CPU, which is what counts for an allocation or a wait.
    """

    name: int
    time: Column
    host: Column | None = None
    calls: int | None = None
    overlapped: Column | None = None
    exposed: Column | None = None


def name_column(table: Table) -> int | None:
    """The column that says what a row is about: by its title, else the first one of words."""
    words = [index for index in range(len(table.heading.cells)) if _is_words(table.column(index))]
    titled = [index for index in words if _NAME.match(table.heading.cells[index])]
    return (titled or words or [None])[0]  # type: ignore[list-item]


def _is_words(cells: list[str]) -> bool:
    sample = [cell for cell in cells[:200] if cell]
    return bool(sample) and sum(1 for cell in sample if to_number(cell) is None) > 0.6 * len(sample)


def _is_numbers(cells: list[str]) -> bool:
    sample = [cell for cell in cells[:200] if cell]
    return bool(sample) and sum(1 for cell in sample if to_number(cell) is not None) > 0.6 * len(sample)


def time_columns(table: Table) -> Columns | None:
    """The columns of times, None where no column has a unit of time."""
    name = name_column(table)
    if name is None:
        return None
    times: list[Column] = []
    calls: int | None = None
    for index, title in enumerate(table.heading.cells):
        if index == name or not _is_numbers(table.column(index)):
            continue
        scale = _scale(title, table.column(index))
        if scale is not None:
            times.append(Column(index, scale, title))
        elif calls is None and _COUNT.search(title):
            calls = index
    plain = [column for column in times if not _OVERLAP.search(column.title) and not _EXPOSED.search(column.title)]
    sums = [column for column in plain if not _NOT_SUM.search(column.title)] or ([] if len(plain) > 1 else plain)
    device = [column for column in sums if not _CPU.search(column.title)] or sums
    if not device:
        return None
    host = [column for column in sums if _CPU.search(column.title)] if len(sums) > len(device) else []
    exposed = next((column for column in times if _EXPOSED.search(column.title)), None)
    overlapped = next((c for c in times if _OVERLAP.search(c.title) and not _EXPOSED.search(c.title)), None)
    return Columns(name, _sum(device), _sum(host) if host else None, calls, overlapped, exposed)


def _sum(columns: list[Column]) -> Column:
    """The column to add up: `self` times before totals, which count nested operations again."""
    for word in ("self", "total|busy"):
        if found := next((column for column in columns if re.search(word, column.title, re.IGNORECASE)), None):
            return found
    return columns[0]


def _scale(title: str, cells: list[str]) -> float | None:
    """Seconds in one of the column's unit, by the title or by the cells (`3.2ms`)."""
    if re.search(r"%|percent|ratio|share", title, re.IGNORECASE):
        return None
    if match := _UNIT.search(title):
        unit = match["unit"].lower()
        unit = _LONG.get(unit.rstrip("s"), unit)
        # A lone s is a unit only beside a word for time: `calls_s` is no duration.
        if unit not in ("s", "sec", "secs") or _TIME.search(title):
            return UNITS[unit]
    units = {unit for cell in cells[:50] if (unit := unit_of(cell))}
    return UNITS["ms"] if units and units <= set(UNITS) and _TIME.search(title) else None
