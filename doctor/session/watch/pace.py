"""Decides when to judge again: at once for what shows a failure, then no more often than it is worth."""

from __future__ import annotations

SHARE = 0.2
"""Part of a core that judging may take over time."""

SAVED, RESERVE = 3.0, 2.0
"""Seconds of processor time that may be saved up by not judging, and how many of them calm news leaves to failures: the
first moments of a failure are when the answer is waited for."""

LEAST, LEAST_CALM = 0.5, 5.0
"""Seconds between two judgements, where something is amiss and where nothing is."""


class Pace:
    """`urgent` after something that shows a failure, `calm` after anything else that is new. Times are in seconds."""

    def __init__(self) -> None:
        self._urgent = self._calm = False
        self._begun = float("-inf")
        self._took = 0.0
        self._saved, self._saved_at = SAVED, float("-inf")

    def heard(self, serious: bool) -> None:
        self._urgent = self._urgent or serious
        self._calm = True

    def due(self, at: float) -> bool:
        """Is it time, and is there processor time to spend?"""
        passed, saved = at - self._begun, self._now(at)
        if self._urgent and passed >= LEAST and saved > 0:
            return True
        return self._calm and passed >= LEAST_CALM and saved >= min(SAVED, RESERVE + self._took)

    def judged(self, begun: float, took: float) -> None:
        """A judgement began at `begun` and took so many seconds of the processor."""
        self._urgent = self._calm = False
        self._saved, self._saved_at = self._now(begun) - took, begun
        self._begun, self._took = begun, took

    def _now(self, at: float) -> float:
        if at <= self._saved_at:
            return self._saved
        return min(SAVED, self._saved + SHARE * (at - self._saved_at))
