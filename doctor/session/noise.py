"""Do two series of measurements differ by more than chance? Medians against a bootstrap interval of their difference.

The steps of one run tell how a step varies, not how the run does: the same job, started again, differs by several
percent (other nodes, other neighbours on the network, other clocks). So a difference counts only beyond both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from statistics import median

FEWEST = 5
"""Steps a side. With five, one side wholly above the other is chance once in 126; with four, once in 35."""
USUAL_NOISE, LEAST_NOISE, REPEATS_COUNT = 0.05, 0.01, 2.0
"""Relative difference of one job from run to run: where no repeats tell, at the least, and as a multiple of the spread
that repeats show, since the few there are show less than there is."""
RESAMPLES, COVERED = 1000, 0.95


class State(StrEnum):
    """What a difference comes to."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNCLEAR = "unclear"
    FEW = "few"
    SINGLE = "single"


@dataclass(frozen=True, slots=True)
class Judged:
    """Medians of both sides; the difference after - before with its interval of 95 %, None where steps are too few."""

    before: float
    after: float
    low: float | None
    high: float | None
    state: State

    @property
    def relative(self) -> float | None:
        """The difference over the value before; None where that is 0."""
        return (self.after - self.before) / abs(self.before) if self.before else None


def judged(
    before: Sequence[float], after: Sequence[float], more_is_better: bool, noise: float, least: float = 0.0
) -> Judged:
    """The difference of two series; below `noise` of the value before, or below `least`, it is none."""
    first, second = median(before), median(after)
    if min(len(before), len(after)) < FEWEST:
        single = min(len(before), len(after)) == 1
        return Judged(first, second, None, None, State.SINGLE if single else State.FEW)
    low, high = interval(before, after)
    if abs(second - first) <= max(noise * abs(first), least):
        state = State.SAME
    elif low <= 0 <= high:
        state = State.UNCLEAR
    else:
        state = State.BETTER if (second > first) == more_is_better else State.WORSE
    return Judged(first, second, low, high, state)


def interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Where the difference of the medians lies in 95 of 100 resamples. The same input gives the same answer."""
    chance = Random(0)

    def resampled(values: Sequence[float]) -> float:
        return median(chance.choices(values, k=len(values)))

    found = sorted(resampled(after) - resampled(before) for _ in range(RESAMPLES))
    cut = round(RESAMPLES * (1 - COVERED) / 2)
    return found[cut], found[-1 - cut]


def noise_of(repeats: Sequence[Sequence[float]]) -> float:
    """The relative difference that is none, from the medians of runs of one job; the usual one for a single run."""
    medians = [median(values) for values in repeats if len(values) >= FEWEST]
    middle = median(medians) if medians else 0.0
    if len(medians) < 2 or not middle:
        return USUAL_NOISE
    return max(LEAST_NOISE, REPEATS_COUNT * (max(medians) - min(medians)) / abs(middle))
