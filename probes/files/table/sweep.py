"""Tables that compare runs: a row a configuration, columns of settings, and how fast it was."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.labels import settings
from doctor.facts.model import Fact, Source
from probes.files.table.cells import Table, to_number, unit_of

MOST_ROWS = 200
FEWEST = 2
_MEASURES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (unit, re.compile(pattern, re.IGNORECASE))
    for unit, pattern in (
        ("tflops", r"tflops?|tflop/s"),
        ("mfu", r"^mfu\b|\bmfu[ _(%]*$"),
        ("tokens/s/GPU", r"(?:tok(?:en)?s?[ _/]*(?:per[ _])?(?:s|sec|second)|tps|tgs)"
                         r"[ _/(]*(?:per[ _])?(?:gpu|device|card)"
                         r"|tok(?:en)?s?[ _/](?:per[ _])?(?:gpu|device)[ _/](?:per[ _])?s|^tgs$"),
        ("tokens/s", r"tok(?:en)?s?[ _/]*(?:per[ _])?s(?:ec)?|^tps$|token.*throughput"),
        ("samples/s", r"(?:samples?|images?|seqs?|sequences?)[ _/]*(?:per[ _])?s(?:ec)?|^throughput"),
        ("forward", r"^(?:fwd|forward)"),
        ("optimizer", r"^(?:optimi[sz]er|optim|step_microstep|adam)"),
        ("step", r"(?:step|iter|iteration|batch)[ _]?time|(?:s|ms|sec|seconds)[ _/](?:per[ _])?(?:it|iter|step)"
                 r"|^(?:step|iter|iteration)[ _(/]*(?:ms|s|sec|seconds)\)?$|time[ _/]*(?:per[ _])?(?:step|iter)"
                 r"|train_runtime|^(?:time|elapsed|runtime|wall)[ _(/]*(?:ms|s|sec|seconds)?\)?$"),
    )
)  # fmt: skip
_MILLI = re.compile(r"(?:^|[ _(/])ms(?:$|[ _)/])|microstep", re.IGNORECASE)
_KILO = re.compile(r"(?:^|[ _(])k(?:$|[ _/])|ktok", re.IGNORECASE)
_PLAIN = re.compile(r"[ _-](?:size|degree|level)$", re.IGNORECASE)


def sweep_facts(path: str, table: Table) -> Iterator[Fact]:
    """`sweep.row` of each row and measure: its settings in words, a colon, the value and its unit (s, not ms)."""
    heading = [title.strip() for title in table.heading.cells]
    measures = {index: unit for index, title in enumerate(heading) if (unit := _measure(title))}
    named = [index for index in range(len(heading)) if index not in measures]
    if not measures or not named or not FEWEST <= len(table.rows) <= MOST_ROWS:
        return
    for row in table.rows:
        words = ", ".join(filter(None, (_words(heading[index], row.cells[index]) for index in named)))
        if not settings(words):
            continue
        for index, unit in measures.items():
            value = to_number(row.cells[index])
            if value is None or value <= 0:
                continue
            value = _base(value, unit, heading[index], unit_of(row.cells[index]))
            text = f"{words}: {value:g} {unit}"
            yield Fact("sweep.row", text, "job", Source("table", path, row.line, row.text[:1000]))


def _words(title: str, cell: str) -> str:
    """A setting as people write it; a column of descriptions needs no title."""
    named = f"{_PLAIN.sub('', title)} {cell}"
    return named if settings(named) else cell if settings(cell) else ""


def _measure(title: str) -> str:
    return next((unit for unit, pattern in _MEASURES if pattern.search(title)), "")


def _base(value: float, unit: str, title: str, own_unit: str) -> float:
    if unit in ("step", "forward", "optimizer") and (own_unit == "ms" or (not own_unit and _MILLI.search(title))):
        return value / 1000
    if unit.startswith("tokens") and (own_unit == "k" or _KILO.search(title)):
        return value * 1000
    return value
