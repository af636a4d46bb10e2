"""Reads tables of timed operations (one row an operation of a worker in a step) and says what slow workers cost.

Columns: step, optype, start_ts, duration (seconds), dp_rank, stage, and rank, seq_id, mc, mb_id where known, as the
public traces of StragglerAnalysis have them. Parquet or CSV.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctor.facts.model import Fact, Quality, Source, Value
from probes.files import parquet
from probes.files.parquet import ParquetError
from probes.files.what_if.model import FURTHER, NEEDED

__all__ = ["WhatIfReading", "is_what_if", "read_what_if"]

LONGEST_HEADING = 4096
MOST_ROWS = 5_000_000


@dataclass(slots=True)
class WhatIfReading:
    """What the tables say; remarks by file. The files are of no single rank."""

    facts: list[Fact] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def says(self, name: str, text: str) -> None:
        self.warnings.setdefault(name, []).append(f"{name}: {text}")


def is_what_if(path: Path) -> bool:
    """Does the table have the columns that are needed?"""
    described = parquet.footer(path)
    if described:
        return all(name.encode() in described for name in NEEDED)
    return set(NEEDED) <= set(_heading(path))


def _heading(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST_HEADING)
        return next(csv.reader([line.decode("utf-8-sig")]), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def read_what_if(files: Sequence[tuple[Path, str]]) -> WhatIfReading:
    """Facts of `files`, each of which `is_what_if` takes for such a table; of several, each is answered alone."""
    from probes.files.what_if.answer import answer
    from probes.files.what_if.model import steps_of
    from probes.files.what_if.simulate import Stuck

    reading = WhatIfReading()
    for path, name in files:
        try:
            steps = steps_of(_columns(path))
            found = answer(steps)
        except (ParquetError, Stuck) as error:
            reading.says(name, str(error))
            continue
        except Exception as error:  # nothing that a file holds may cost the other files
            reading.says(name, f"cannot be read: {str(error)[:200] or type(error).__name__}")
            continue
        if steps.damaged:
            reading.says(name, f"{steps.damaged} rows have no number, place or time: they were left out")
        if found is None:
            reading.says(name, "holds no step with computation")
            continue
        times = f"{found.observed:.3g} s, {found.ideal:.3g} s if all were alike"
        text = f"{found.steps} steps of {found.workers} workers: {times}"
        source = Source("table", name, 0, text)
        values: dict[str, Value] = {
            "trace.what_if_slowdown": found.slowdown,
            "trace.what_if_ideal_time": found.ideal,
            "trace.what_if_step_time": found.observed,
            "trace.what_if_workers": found.workers,
            "trace.what_if_slow_gain": found.together,
        }
        reading.facts += [Fact(key, value, "job", source, None, Quality.MEASURED) for key, value in values.items()]
        for worker, ratio in found.compute.items():
            entity = f"rank:{steps.ranks.get(worker, worker[1])}" if worker in steps.ranks else "job"
            if entity != "job":
                reading.facts.append(Fact("trace.what_if_compute_ratio", ratio, entity, source, None, Quality.MEASURED))
                if worker in found.gains:
                    gain = found.gains[worker]
                    reading.facts.append(Fact("trace.what_if_gain", gain, entity, source, None, Quality.MEASURED))
    return reading


def _columns(path: Path) -> dict[str, list[Any]]:
    if parquet.footer(path):
        return parquet.columns(path, (*NEEDED, *FURTHER))
    heading = _heading(path)
    found: dict[str, list[Any]] = {name: [] for name in heading if name in (*NEEDED, *FURTHER)}
    places = [(heading.index(name), values) for name, values in found.items()]
    for cells in _rows(path):
        for place, values in places:
            values.append(cells[place] if place < len(cells) else None)
    return found


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = csv.reader(file)
        next(rows, None)
        for number, cells in enumerate(rows):
            if number >= MOST_ROWS:
                return
            yield cells
