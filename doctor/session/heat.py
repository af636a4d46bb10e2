"""The loads of experts as a picture: a row a layer, a value an expert; large ones are folded to what a page holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from doctor.facts.store import FactStore

EVEN = 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """Layers that are drawn as one row, and the tokens of their experts over the mean."""

    layers: tuple[str, ...]
    loads: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Heat:
    """All rows, of equal length; `experts` share one value where there are more than a page is wide."""

    rows: tuple[Row, ...]
    experts: int = 1


def heat_of(store: FactStore) -> Heat | None:
    """The picture of the loads that were read, None where there are none."""
    fact = store.get("experts.heat")
    if fact is None or not isinstance(fact.value, tuple):
        return None
    rows = []
    for text in fact.value:
        name, _, values = str(text).rpartition(":")
        rows.append(Row((name,), tuple(float(value) for value in values.split())))
    return Heat(tuple(rows)) if rows else None


def folded(heat: Heat, most_rows: int, most_columns: int) -> Heat:
    """The picture with at most so many rows and columns. Of what shares a place the value counts that is furthest from
    even, so that no dead or overloaded expert is folded away."""
    wide = max(len(row.loads) for row in heat.rows)
    across, down = -(-wide // most_columns), -(-len(heat.rows) // most_rows)
    narrow = [Row(row.layers, tuple(_furthest(part) for part in _parts(row.loads, across))) for row in heat.rows]
    rows = []
    for group in (narrow[start : start + down] for start in range(0, len(narrow), down)):
        columns = range(max(len(row.loads) for row in group))
        loads = tuple(_furthest([row.loads[c] for row in group if c < len(row.loads)]) for c in columns)
        rows.append(Row(tuple(name for row in group for name in row.layers), loads))
    return Heat(tuple(rows), across)


def _parts(loads: Sequence[float], size: int) -> list[Sequence[float]]:
    return [loads[start : start + size] for start in range(0, len(loads), size)]


def _furthest(loads: Sequence[float]) -> float:
    """The most loaded counts by how many times it is above even, the least loaded by how far it is below."""
    most, least = max(loads), min(loads)
    return most if most - EVEN >= (EVEN - least) or most >= 2 * EVEN > 0 else least
