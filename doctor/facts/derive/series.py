"""Who is slowest in a table with a row a step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = ("series.row",)
GIVES = ("run.slowest_rank", "run.slowest_rank_share", "run.rank_spread")

_PAIR = re.compile(r"\b(\w{1,40})=([+-]?\d{1,20}(?:\.\d{0,20})?(?:e[+-]?\d{1,2})?)(?![\w.])")
FEWEST = 4
SLOW = 1.2
"""A step counts as held up by its slowest rank when that rank, or the step, takes this many times the median."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step of a table with what it says of it."""

    values: Mapping[str, float]
    source: Source


def rows(store: FactStore) -> list[Row]:
    """The rows of such tables, in their order."""
    return [
        Row({key: float(value) for key, value in _PAIR.findall(str(fact.value))}, fact.source)
        for fact in store.every("series.row")
    ]


def steps(store: FactStore) -> list[Event]:
    """The rows as progress lines, so that what holds for a log holds for a table."""
    return [
        Event(
            "progress.step",
            row.source,
            {"step": int(row.values["step"]), "step_time_s": row.values["seconds"]},
            order=index,
        )
        for index, row in enumerate(rows(store))
        if "step" in row.values and "seconds" in row.values
    ]


def derive(store: FactStore) -> Iterator[Fact]:
    """The rank that is slowest most often among the steps that were held up, and by how much."""
    told = [row for row in rows(store) if "rank" in row.values and "seconds" in row.values]
    if len(told) < FEWEST:
        return
    middle = median(row.values["seconds"] for row in told)
    held = [row for row in told if row.values.get("spread", row.values["seconds"] / middle) > SLOW]
    if len(held) < 2:
        return
    ranks = [int(row.values["rank"]) for row in held]
    usual = max(sorted(set(ranks)), key=ranks.count)
    sources = tuple(row.source for row in held[:4])
    spread = median(row.values.get("spread", row.values["seconds"] / middle) for row in held)
    values: tuple[Value, ...] = (usual, ranks.count(usual) / len(ranks), spread)
    for name, value in zip(GIVES, values, strict=True):
        yield Fact(name, value, "job", Source("derived"), None, Quality.DERIVED, sources)
