"""A text as a table: which sign separates its cells, its heading, its rows, and the notes between them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

MAX_ROWS = 1_000_000
MAX_LINE = 100_000
MAX_COLUMNS = 2000
FIRST = 50
"""Lines that tell the sign between the cells, and of which one is the heading."""
GAP = "  "
"""Columns that are set apart by two blanks or more, as torch.profiler prints its table."""
FEWEST_EVEN = 0.8
"""Share of the rows that must have as many cells as the heading: a log with commas has not."""

_GAP = re.compile(r"\s{2,}")
_RULE = re.compile(r"^[-+:=|\s]*$")
_NUMBER = re.compile(
    r"^\s*[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d{1,3})?\s*(?P<unit>%|[a-zµ]{1,12})?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row with the number and the text of its line."""

    cells: tuple[str, ...]
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `notes` are its comment lines, `uneven` counts the rows left out, `cut` tells that rows are missing."""

    heading: Row
    rows: tuple[Row, ...]
    notes: tuple[Row, ...] = ()
    uneven: int = 0
    cut: bool = False

    def column(self, index: int) -> list[str]:
        return [row.cells[index] for row in self.rows]


def parse(data: bytes) -> Table | None:
    """The table in `data`, None when it is none: binary, one column, no heading of words, or rows of uneven length."""
    if not data.strip() or data[:4096].count(0):
        return None
    whole = data.decode("utf-8-sig", errors="replace")
    # Most texts are no tables, which their first lines tell.
    first = [text for _, text in islice(_body(_lines(whole)), FIRST)]
    sign = _separator(first) if len(first) >= 2 else None
    if sign is None or not is_heading(next(cells for text in first if (cells := _split(text, sign)))):
        return None
    lines = [*_lines(whole)]
    notes = tuple(Row((), number, text) for number, text in lines if _is_note(text))
    body = [*_body(lines)]
    rows = [Row(cells, number, text) for number, text in body if (cells := _split(text, sign))]
    if 2 * len(rows) < len(body):
        return None
    heading, rest = rows[0], rows[1:]
    even = tuple(row for row in rest if len(row.cells) == len(heading.cells))
    if len(even) < FEWEST_EVEN * len(rest) or not even:
        return None
    return Table(heading, even[:MAX_ROWS], notes, len(rest) - len(even), len(even) > MAX_ROWS or len(lines) > MAX_ROWS)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text), 1):
        if number > MAX_ROWS + 1:
            return
        if len(line) <= MAX_LINE:
            yield number, line.rstrip("\r\n")


def _body(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines that are neither rules nor notes."""
    return ((number, text) for number, text in lines if not _RULE.match(text) and not _is_note(text))


def _is_note(text: str) -> bool:
    return text.lstrip().startswith(("#", "//"))


def _separator(lines: list[str]) -> str | None:
    """The sign that splits most lines into the same number of cells."""
    best: tuple[float, int, str] | None = None
    for sign in ("\t", ",", ";", "|", GAP):
        if sign != GAP and not any(sign in line for line in lines):
            continue
        counts = [len(cells) for line in lines if (cells := _split(line, sign))]
        usual = max(set(counts), key=counts.count) if counts else 0
        if usual >= (2 if sign != GAP else 3):
            share = counts.count(usual) / len(counts)
            if share >= FEWEST_EVEN and (best is None or (share, usual) > best[:2]):
                best = (share, usual, sign)
    return best[2] if best else None


def _split(text: str, sign: str) -> tuple[str, ...]:
    """The cells of a line; none of a line that only draws a rule, or says something below a table with wide gaps."""
    if _RULE.match(text):
        return ()
    if sign == GAP:
        parts = tuple(_GAP.split(text.strip())[:MAX_COLUMNS])
        return parts if len(parts) > 1 else ()
    if sign == "|":
        text = text.strip().strip("|")
    cells = text.split(sign)
    if '"' in text:
        with suppress(csv.Error):
            cells = next(csv.reader([text], delimiter=sign), [])
    return tuple(cell.strip() for cell in cells[:MAX_COLUMNS])


def is_heading(cells: tuple[str, ...]) -> bool:
    """Words, none of them a number: short, different, at least two."""
    full = [cell for cell in cells if cell]
    return (
        len(full) >= 2
        and len(full) >= len(cells) - 1
        and all(len(cell) <= 60 and to_number(cell) is None and re.search(r"[A-Za-z]", cell) for cell in full)
        and len(set(full)) == len(full)
    )


def to_number(text: str) -> float | None:
    """The number in a cell such as `1,240.5`, `12.5%` or `3.2ms`; None for words and empty cells."""
    match = _NUMBER.match(text) if len(text) <= 40 and any(sign.isdigit() for sign in text) else None
    if not match:
        return None
    try:
        return float(text[: match.start("unit")].replace(",", "") if match["unit"] else text.replace(",", ""))
    except ValueError:
        return None


def unit_of(text: str) -> str:
    """The unit that a cell carries itself, such as `ms` in `3.2ms`."""
    match = _NUMBER.match(text) if len(text) <= 40 and any(sign.isdigit() for sign in text) else None
    return (match["unit"] or "").lower() if match else ""
