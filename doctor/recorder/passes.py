"""Counts the backward passes of a step, and how many of them reduce gradients over the ranks."""

from __future__ import annotations

import sys

from doctor.recorder.gradients import Sync

COUNTED = 3
"""Parameters at which backward passes are counted: one may be frozen, or used twice in a pass."""


class Passes:
    """Passes of one model. A wrapper decides at the forward pass whether the backward pass reduces; where passes
    cannot be counted at a parameter, forward passes with gradients count."""

    def __init__(self, sync: Sync) -> None:
        self.sync = sync
        self._will: bool | None = None
        self._seen = False
        self._clear()

    def _clear(self) -> None:
        self._forwards, self._reducing, self._known = 0, 0, True
        self._back = [[0, 0] for _ in range(COUNTED)]

    def forward(self) -> None:
        if grad_enabled():
            self._will, self._seen = self.sync.will(), True
            self._forwards += 1
            self._reducing += bool(self._will)
            self._known = self._known and self._will is not None

    def backward(self, index: int) -> None:
        """Gradients have come to the parameter of that number."""
        if not self._seen:  # compiled code runs no hook before its forward pass
            self._will = self.sync.will()
            self._known = self._known and self._will is not None
        self._back[index][0] += 1
        self._back[index][1] += bool(self._will)

    def take(self) -> dict[str, int]:
        """Passes since the last time, and those that reduced, which is left out where no wrapper tells."""
        counted = [(passes, reducing) for passes, reducing in self._back if passes]
        passes, reducing = min(counted) if counted else (self._forwards, self._reducing)
        known = self._known
        self._clear()
        if not passes:
            return {}
        return {"passes": passes, "syncs": reducing} if known else {"passes": passes}


def grad_enabled() -> bool:
    return bool(sys.modules["torch"].is_grad_enabled())
