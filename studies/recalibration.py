"""Maps from the stated confidence to a better one, fitted on answers: would pdoctor gain by having one?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import exp, log
from typing import TypeAlias

Map: TypeAlias = Callable[[float], float]

RIDGE = 1.0
"""Pull of Platt's two parameters towards the identity: few cases must not give a step function."""


def logit(p: float) -> float:
    p = min(max(p, 0.005), 0.995)
    return log(p / (1 - p))


def platt(given: Sequence[tuple[float, bool]]) -> Map:
    """A logistic map of the log-odds (Platt 1999), by Newton's method on the penalised likelihood."""
    slope, shift = 1.0, 0.0
    pairs = [(logit(belief), right) for belief, right in given]
    for _ in range(25):
        g1, g0 = RIDGE * (slope - 1), RIDGE * shift
        h11, h10, h00 = RIDGE, 0.0, RIDGE
        for x, right in pairs:
            p = 1 / (1 + exp(-(slope * x + shift)))
            weight = p * (1 - p)
            g1, g0 = g1 + (p - right) * x, g0 + (p - right)
            h11, h10, h00 = h11 + weight * x * x, h10 + weight * x, h00 + weight
        determinant = h11 * h00 - h10 * h10
        slope -= (h00 * g1 - h10 * g0) / determinant
        shift -= (h11 * g0 - h10 * g1) / determinant
    return lambda belief: 1 / (1 + exp(-(slope * logit(belief) + shift)))


def isotonic(given: Sequence[tuple[float, bool]]) -> Map:
    """The best rising step function, by pooling adjacent violators."""
    blocks: list[tuple[float, float, int]] = []  # lowest confidence, sum of right ones, size
    for belief, right in sorted(given):
        blocks.append((belief, float(right), 1))
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][2] >= blocks[-1][1] / blocks[-1][2]:
            low, total, size = blocks.pop()
            low, before, count = blocks.pop()
            blocks.append((low, before + total, count + size))
    starts = [low for low, _, _ in blocks]
    rates = [total / size for _, total, size in blocks]
    return lambda belief: rates[max(bisect_right(starts, belief) - 1, 0)]
