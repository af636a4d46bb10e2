"""Is the confidence of the first root what it says: of those believed at 0.8, are eight in ten right?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from studies.cases import Answer
from studies.table import percent, table

EDGES = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

Point = tuple[float, bool]


def points(given: Sequence[Answer]) -> list[Point]:
    """Confidence of the first root and whether it is right, for every case that has a fault; no root counts as 0."""
    return [(answer.belief, answer.right) for answer in given if not answer.case.healthy]


def brier(given: Sequence[Point]) -> float:
    """Mean squared error of the confidence (Brier 1950); 0 is perfect, always saying 0.5 gives 0.25."""
    return sum((belief - right) ** 2 for belief, right in given) / len(given) if given else 0.0


def bins(given: Sequence[Point]) -> list[tuple[float, float, list[Point]]]:
    """The points by confidence; the last bin holds its upper edge."""
    last = EDGES[-1]
    return [
        (low, high, [p for p in given if low <= p[0] < high or (high == last and p[0] == last)])
        for low, high in pairwise(EDGES)
    ]


def decomposed(given: Sequence[Point]) -> tuple[float, float, float, float]:
    """Murphy's reliability, resolution and uncertainty of the binned confidence, and what binning leaves over.

    Brier = reliability - resolution + uncertainty + rest; Murphy 1973. Reliability is the harm done by wrong
    confidence, resolution what the confidence tells beyond the mean hit rate.
    """
    n = len(given)
    mean = sum(right for _, right in given) / n
    reliability = resolution = 0.0
    for _, _, inside in bins(given):
        if inside:
            rate = sum(right for _, right in inside) / len(inside)
            said = sum(belief for belief, _ in inside) / len(inside)
            reliability += len(inside) * (said - rate) ** 2 / n
            resolution += len(inside) * (rate - mean) ** 2 / n
    uncertainty = mean * (1 - mean)
    return reliability, resolution, uncertainty, brier(given) - (reliability - resolution + uncertainty)


def section(given: Sequence[Answer]) -> str:
    found = points(given)
    rows = [
        (
            f"{low:.1f} to {high:.1f}",
            len(inside),
            f"{sum(belief for belief, _ in inside) / len(inside):.2f}" if inside else "-",
            percent(sum(right for _, right in inside), len(inside)),
        )
        for low, high, inside in bins(found)
    ]
    reliability, resolution, uncertainty, rest = decomposed(found)
    right = sum(right for _, right in found)
    calm = [answer for answer in given if answer.case.healthy]
    return "\n".join(
        [
            f"{len(found)} cases with a fault: the first root is right in {right} ({percent(right, len(found))}). "
            f"{len(calm)} healthy cases: no alarm in {sum(not answer.alarms for answer in calm)}. A wrong cause that a "
            f"case names as a usual mistake is believed at 0.5 or more in {sum(map(misled, given))}.",
            "",
            table(("confidence of the first root", "cases", "mean confidence", "right"), rows),
            "",
            f"Brier score **{brier(found):.3f}** = reliability {reliability:.3f} - resolution {resolution:.3f} + "
            f"uncertainty {uncertainty:.3f} + rest within bins {rest:.3f}. The mean confidence is "
            f"{sum(belief for belief, _ in found) / len(found):.2f}, the hit rate {right / len(found):.2f}.",
        ]
    )


def misled(answer: Answer) -> bool:
    return any(f.rule.cause in answer.case.wrong and f.belief >= 0.5 for f in answer.report.diagnosis.roots)
