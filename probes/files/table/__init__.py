"""Reads small tables that people export from a profiler or a script: times of operations, overlap, tokens of experts.

Columns and rows are understood by what they are called, never by the file's name; a table of which nothing is
understood is no table for us.
"""

from __future__ import annotations

from dataclasses import dataclass

from doctor.facts.model import Fact
from probes.files.table.cells import Table, parse
from probes.files.table.experts import expert_facts
from probes.files.table.series import series_facts
from probes.files.table.sweep import sweep_facts
from probes.files.table.times import time_facts

MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class TableReading:
    """What was read of a table."""

    facts: tuple[Fact, ...]
    warnings: tuple[str, ...] = ()


def read_table(name: str, data: bytes) -> TableReading | None:
    """Facts of a table whose cells a comma, tab, semicolon, bar or wide gap separates; None for anything else.

    The first 64 MiB and the first million rows are read.
    """
    parsed = parse(data[:MAX_BYTES])
    if parsed is None:
        return None
    facts = (*_facts(name, parsed),)
    if not facts:
        return None
    warnings = []
    if len(data) > MAX_BYTES or parsed.cut:
        warnings.append(f"{name}: only the first {len(parsed.rows)} rows were read")
    if parsed.uneven:
        warnings.append(f"{name}: {parsed.uneven} rows have another number of cells than the heading and were left out")
    return TableReading(facts, tuple(warnings))


def _facts(name: str, table: Table) -> list[Fact]:
    readers = (time_facts, expert_facts, sweep_facts, series_facts)
    return [fact for reader in readers for fact in reader(name, table)]
