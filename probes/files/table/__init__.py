"""Reads small tables that people export from a profiler or a script: times of operations, overlap, tokens of experts.

Columns and rows are understood by what they are called, never by the file's name; a table of which nothing is
understood is no table for us.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.facts.model import Fact
from probes.files.table.cells import Table, parse
from probes.files.table.experts import expert_facts
from probes.files.table.series import series_facts
from probes.files.table.sweep import sweep_facts
from probes.files.table.times import time_facts

MAX_BYTES = 64 << 20
MOST_NOTES = 256 << 10
"""Tables inside a text are looked for in so much of it: notes are short, and logs are not searched for tables."""

_RULE = re.compile(rb"^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)+\|?[ \t]*\r?$")


@dataclass(frozen=True, slots=True)
class TableReading:
    """What was read of a table."""

    facts: tuple[Fact, ...]
    warnings: tuple[str, ...] = ()
    whole: bool = True
    """False of tables in a text that says other things as well."""


def read_table(name: str, data: bytes) -> TableReading | None:
    """Facts of a table whose cells a comma, tab, semicolon, bar or wide gap separates, or of the Markdown tables in a
    note; None for anything else.

    The first 64 MiB and the first million rows are read.
    """
    parsed = parse(data[:MAX_BYTES])
    if parsed is None:
        return _within(name, data[:MOST_NOTES])
    facts = (*_facts(name, parsed),)
    if not facts:
        return None
    warnings = []
    if len(data) > MAX_BYTES or parsed.cut:
        warnings.append(f"{name}: only the first {len(parsed.rows)} rows were read")
    if parsed.uneven:
        warnings.append(f"{name}: {parsed.uneven} rows have another number of cells than the heading and were left out")
    return TableReading(facts, tuple(warnings))


def _within(name: str, data: bytes) -> TableReading | None:
    """Facts of the Markdown tables between the words of a note; lines keep their numbers."""
    if b"--" not in data:
        return None
    lines = data.split(b"\n")
    facts: list[Fact] = []
    for place, line in enumerate(lines):
        if len(line) < 1000 and _RULE.match(line) and place > 0 and b"|" in lines[place - 1]:
            end = place + 1
            while end < len(lines) and b"|" in lines[end]:
                end += 1
            parsed = parse(b"\n" * (place - 1) + b"\n".join(lines[place - 1 : end]))
            facts += _facts(name, parsed) if parsed is not None else []
    return TableReading(tuple(facts), whole=False) if facts else None


def _facts(name: str, table: Table) -> list[Fact]:
    readers = (time_facts, expert_facts, sweep_facts, series_facts)
    return [fact for reader in readers for fact in reader(name, table)]
