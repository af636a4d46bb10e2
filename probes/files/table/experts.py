"""Tokens that experts, or the ranks that hold them, receive."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Fact, Source, Value
from probes.files.table.cells import Row, Table, to_number

FEWEST = 2
_EXPERT = re.compile(r"^(?:global_?|local_?)?experts?(?:[ _-]?(?:id|idx|index|no|number))?$", re.IGNORECASE)
_RANK = re.compile(r"^(?:(?:ep|expert|global)[ _-]?)?rank(?:[ _-]?id)?$", re.IGNORECASE)
_TOKENS = re.compile(r"tokens?|assign|load|routed|dispatched|recv|received", re.IGNORECASE)
_NOT_TOKENS = re.compile(r"per_?s|/s|ratio|share|fraction|%|percent|loss|ms\b|time|capacity", re.IGNORECASE)
_WIDE = re.compile(r"^(?:expert|e)[ _-]?(?P<index>\d{1,4})(?:[ _-]?tokens?)?$", re.IGNORECASE)


def expert_facts(path: str, table: Table) -> Iterator[Fact]:
    """How uneven the tokens are: a row an expert (or rank), or a column an expert."""
    for key, names in (
        (_EXPERT, ("moe.tokens_per_expert_max_over_mean", "moe.tokens_per_expert_min_over_mean", "moe.experts_seen")),
        (_RANK, ("moe.tokens_per_rank_max_over_mean", "", "")),
    ):
        loads = _long(table, key)
        if loads:
            yield from _uneven(path, loads, names)
    if loads := _wide(table):
        yield from _uneven(
            path,
            loads,
            ("moe.tokens_per_expert_max_over_mean", "moe.tokens_per_expert_min_over_mean", "moe.experts_seen"),
        )


def _long(table: Table, key: re.Pattern[str]) -> dict[str, tuple[float, Row]]:
    """Tokens by the cell of the key column; rows of several layers or steps are added up."""
    heading = table.heading.cells
    place = next((index for index, title in enumerate(heading) if key.match(title.strip())), None)
    tokens = next(
        (
            index
            for index, title in enumerate(heading)
            if index != place and _TOKENS.search(title) and not _NOT_TOKENS.search(title)
        ),
        None,
    )
    if place is None or tokens is None:
        return {}
    loads: dict[str, tuple[float, Row]] = {}
    for row in table.rows:
        value = to_number(row.cells[tokens])
        if value is not None and value >= 0 and row.cells[place]:
            before = loads.get(row.cells[place], (0.0, row))
            loads[row.cells[place]] = (before[0] + value, before[1])
    return loads


def _wide(table: Table) -> dict[str, tuple[float, Row]]:
    """Columns expert_0, expert_1, ...; rows are steps or layers and are added up."""
    places = [index for index, title in enumerate(table.heading.cells) if _WIDE.match(title.strip())]
    if len(places) < FEWEST:
        return {}
    sums: dict[int, float] = defaultdict(float)
    for row in table.rows:
        for index in places:
            sums[index] += max(to_number(row.cells[index]) or 0.0, 0.0)
    return {table.heading.cells[index]: (value, table.rows[0]) for index, value in sums.items()}


def _uneven(path: str, loads: dict[str, tuple[float, Row]], names: tuple[str, str, str]) -> Iterator[Fact]:
    mean = sum(value for value, _ in loads.values()) / len(loads)
    if len(loads) < FEWEST or mean <= 0:
        return
    most, least = max(loads.values(), key=lambda load: load[0]), min(loads.values(), key=lambda load: load[0])
    values: tuple[Value, ...] = (most[0] / mean, least[0] / mean, len(loads))
    for name, value, row in zip(names, values, (most[1], least[1], most[1]), strict=True):
        if name:
            yield Fact(name, value, "job", Source("table", path, row.line, row.text[:1000]))
