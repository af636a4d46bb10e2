"""One rank that suddenly takes far longer than all others: told after few steps, where the difference is large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import median

RANKS = 3
"""Fewer ranks have no usual value that one of them could differ from."""
TIMES = 2.0
"""A rank stands out in a step in which it takes so many times as long as any other."""
FEWEST = 4
"""Steps in a row from which it is told: storage that stumbles holds a rank up for two or three."""
HISTORY = 8
"""Steps before them that tell how often some rank stands out in a healthy job."""
CHANCE = 1e-6
"""How often such a row of steps may come by chance, a step: once in so many steps as a long run has."""


def outlier(own: Mapping[int, Sequence[float]], least: float) -> tuple[int, float] | None:
    """The rank that stands out in the last steps, and its time over that of the others; None if there is none.

    `own` holds each rank's own seconds of the last steps, in order; `least` is by how many seconds more than the others
    a rank has to take. Where one rank of R stood out in a share f of the steps before, and once more in the step after
    in a share g of these cases, K steps in a row of one rank come by chance with f g^(K - 1). f is taken as
    (seen + 1) / (steps + 1), g as at least f / R, so that a short history asks for a longer row, and so does one in
    which ranks stood out now and then.
    """
    own = {rank: values for rank, values in own.items() if len(values) >= FEWEST + HISTORY}
    if len(own) < RANKS:
        return None
    length = min(len(values) for values in own.values())
    slowest = max(own, key=lambda rank: own[rank][-1])
    # What costs little to tell comes first: asked of every job whenever it writes.
    if _stands_out(own, 1, least) != slowest:
        return None
    who = [_stands_out(own, back, least) for back in range(1, length + 1)]
    row = sum(1 for _ in takewhile(lambda rank: rank == slowest, who))
    before = who[row:]
    alone = sum(rank is not None for rank in before)
    again = sum(late is not None and late == early for late, early in pairwise(before))
    often = (alone + 1) / (len(before) + 1)
    goes_on = max(often / len(own), again / (alone + 1))
    if row < FEWEST or len(before) < HISTORY or often * goes_on ** (row - 1) > CHANCE:
        return None
    others = median(max(values[-back] for rank, values in own.items() if rank != slowest) for back in range(1, row + 1))
    most = median(list(own[slowest])[-row:])
    return slowest, most / others if others > 0 else float("inf")


def _stands_out(own: Mapping[int, Sequence[float]], back: int, least: float) -> int | None:
    """Who stands out, so many steps back."""
    slowest, first, second = None, 0.0, 0.0
    for rank, values in own.items():
        value = values[-back]
        if value > first:
            slowest, first, second = rank, value, first
        elif value > second:
            second = value
    return slowest if first >= TIMES * second and first - second >= least else None
