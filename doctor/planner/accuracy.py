"""How far predictions lie from measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_WORST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured value beside its prediction, both in the same unit. low, high: the predicted range, or None."""

    id: str
    file: str
    kind: str
    held_out: bool
    predicted: float
    measured: float
    low: float | None = None
    high: float | None = None

    @property
    def error(self) -> float:
        """Signed share of the measured value: below 0 where the prediction is too small."""
        return self.predicted / self.measured - 1

    @property
    def covered(self) -> bool | None:
        """Does the range hold the measured value?"""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Of n rows: median and 90th percentile of the absolute error, median of the signed one (bias), share predicted
    more than 5 % too small, share whose range holds the measured value (None without ranges), the worst rows."""

    n: int
    median: float
    p90: float
    bias: float
    under: float
    covered: float | None
    worst: tuple[Row, ...]


def errors(rows: Iterable[Row]) -> Errors | None:
    """Errors of the rows; None where there are none."""
    rows = tuple(rows)
    if not rows:
        return None
    sizes = [abs(row.error) for row in rows]
    ranged = [row.covered for row in rows if row.covered is not None]
    worst = sorted(rows, key=lambda row: -abs(row.error))
    return Errors(
        n=len(rows),
        median=quantile(sizes, 0.5),
        p90=quantile(sizes, 0.9),
        bias=quantile([row.error for row in rows], 0.5),
        under=sum(row.error < -0.05 for row in rows) / len(rows),
        covered=sum(ranged) / len(ranged) if ranged else None,
        worst=tuple(worst[:MOST_WORST]),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of them lie, between neighbours in proportion (the usual definition, type 7)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
