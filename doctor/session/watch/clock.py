"""The time of day that goes on evenly, also when somebody sets the clock."""

from __future__ import annotations

import time
from collections.abc import Callable


def steady(wall: Callable[[], float] = time.time, even: Callable[[], float] = time.monotonic) -> Callable[[], float]:
    """Seconds since the epoch as `wall` tells them now, and from now on as `even` counts them: a step of the clock is
    neither an hour of silence nor an hour in which nothing is due."""
    offset = wall() - even()
    return lambda: offset + even()
