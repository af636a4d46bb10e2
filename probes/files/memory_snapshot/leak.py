"""Does memory grow from one equal part of the history to the next, and who keeps it?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from probes.files.memory_snapshot.model import Origin
from probes.files.memory_snapshot.replay import Course

WARM_UP = 2
"""Phases left out at the beginning: the first steps make optimizer states and workspaces once."""
LEAST_SHARE, LEAST_KEPT = 0.01, 0.002
"""Growth over the history, as a share of the peak, below which nothing is said; and where one place keeps something of
every phase, and most of the growth with it: a few steps of a slow leak."""
STEADY = 3.0
"""One phase may add at most so much more than the median of them; a jump is no leak."""
MOST_OF_IT = 0.5
STATES = ("parameters", "optimizer_state", "parameter_buffers")


@dataclass(frozen=True, slots=True)
class Leak:
    """Bytes a phase adds, over all phases that count, and who keeps most of it; None where stacks do not tell."""

    per_phase: float
    total: int
    keeper: Origin | None
    kept: int


def leak(course: Course) -> Leak | None:
    """The growth of what is held at the lowest moment of each phase: peaks vary with the batch, lows do not.

    A leak grows in every phase and by about as much in each; loading a model grows in the first ones only.
    """
    lows = course.lows[WARM_UP:]
    if len(lows) < 4:
        return None
    steps = [after - before for before, after in pairwise(lows)]
    total = lows[-1] - lows[0]
    if min(steps) <= 0 or total < LEAST_KEPT * course.peak.total or max(steps) > STEADY * median(steps):
        return None
    steady = {
        origin: sum(phases[WARM_UP:])
        for origin, phases in course.growth.items()
        if all(phases[WARM_UP:-1]) and origin.category not in STATES
    }
    keeper = max(steady, key=lambda origin: steady[origin], default=None)
    if total < LEAST_SHARE * course.peak.total and (keeper is None or steady[keeper] < MOST_OF_IT * total):
        return None
    return Leak(total / len(steps), total, keeper, steady[keeper] if keeper else 0)
