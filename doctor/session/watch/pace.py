"""Decides when to judge again: at once for the first failure, then no more often than it is worth."""

from __future__ import annotations

SHARE = 0.2
"""Part of a core that judging may take."""

LEAST, LEAST_CALM = 1.0, 5.0
"""Seconds between two judgements, where something is amiss and where nothing is."""


class Pace:
    """`urgent` after something that shows a failure, `calm` after anything else that is new."""

    def __init__(self) -> None:
        self._urgent = self._calm = False
        self._failed = False
        self._begun = float("-inf")
        self._free = float("-inf")

    def heard(self, serious: bool) -> None:
        self._urgent = self._urgent or serious
        self._calm = True

    def due(self, at: float) -> bool:
        """Is it time? The first failure waits for nothing."""
        if self._urgent and not self._failed:
            return True
        if at < self._free:
            return False
        return (self._urgent and at - self._begun >= LEAST) or (self._calm and at - self._begun >= LEAST_CALM)

    def judged(self, begun: float, took: float) -> None:
        """A judgement began at `begun` and took so many seconds of the processor."""
        self._failed = self._failed or self._urgent
        self._urgent = self._calm = False
        self._begun, self._free = begun, begun + took / SHARE
