"""When a watch is over, and how it came to that."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

from doctor.session.watch.follow import Following
from probes.live.follow import Processes
from probes.live.follow.targets import SlurmJob

QUIET = 60.0
"""Seconds without a line after which a job is over that nothing else tells the end of (--once-done)."""

LAST_WORDS = 2.0
"""Seconds for which what a job has ended with is waited for."""


class End(StrEnum):
    """How a watch ended: what ran has gone, Slurm says so, the pipe was closed, no line came any more, or the time that
    it was to take is over."""

    PROCESSES = "processes"
    SLURM = "slurm"
    PIPE = "pipe"
    QUIET = "quiet"
    TIME = "time"


class Ending:
    """Looks for the end of what `following` follows: `seconds` after the beginning at the latest, with `once_done` also
    when nothing is written any more. `clock` gives seconds that never go back."""

    def __init__(
        self,
        following: Following,
        seconds: float | None = None,
        once_done: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._following, self._seconds, self._once_done, self._clock = following, seconds, once_done, clock
        self._begun = self._quiet_since = clock()
        self._heard = False

    def see(self, heard: bool) -> End | None:
        """After a turn, in which something was `heard` or not; None while the watch goes on."""
        now = self._clock()
        if heard:
            self._heard, self._quiet_since = True, now
        quiet_for = now - self._quiet_since
        if self._following.over() and quiet_for >= LAST_WORDS:
            return self._how()
        if self._once_done and self._heard and quiet_for >= QUIET:
            return End.QUIET
        if self._seconds is not None and now - self._begun >= self._seconds:
            return End.TIME
        return None

    def _how(self) -> End:
        targets = self._following.targets
        if any(isinstance(target, SlurmJob) for target in targets):
            return End.SLURM
        return End.PROCESSES if any(isinstance(target, Processes) for target in targets) else End.PIPE
