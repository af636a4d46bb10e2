"""The heartbeat of one log: how far apart its steps come, which pauses are usual, and how long a silence may last."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

from doctor.facts.vitals.robust import spread

KEPT = 48
"""Gaps that are remembered: enough for a median, and a change of rhythm is usual after half of them."""
FEW = 4
"""Steps before which a log has no rhythm."""
WARM_UP = 2
"""First steps, whose gaps are no pauses: compilation, allocator and connections make them slow in every framework."""
TIMES = 20.0
"""A silence of this many usual gaps stands out, once the job's usual pauses are known."""
SIGMAS = 8.0
LEAST = 60.0
"""Seconds: what is shorter may be a write that the file system or a buffer holds back."""
AGAIN = 3.0
"""A pause is allowed this many times its length: an evaluation may follow a checkpoint, and slow storage varies."""
PART, PART_ANNOUNCED = 0.5, 0.8
"""Shares of the time-out that an unknown silence may last: one out of the blue, and one that the log announces."""
PAUSE = 5.0
SHORT = 20.0
"""A gap of this many usual ones and seconds that ended by itself was a pause: evaluation, checkpoint, compilation,
data. Shorter ones are steps that took longer."""
KINDS = 3
"""Pauses of a job that announces none, from which its kinds of pauses are taken as known."""
LONGEST = 7 * 86400.0
"""Seconds. A larger difference of time stamps is a clock that was set."""


@dataclass(slots=True)
class Pulse:
    """Beats are steps, or lines that come with steps. Times are seconds; `at` is when a line was read, `stamp` its own.

    A gap is told in three ways, and the longest counts: when lines were read, which a buffer makes long; the time
    stamps of the lines, which tell the rhythm of what was written before anybody watched; the step time they print.
    """

    beats: int = 0
    at: float = 0.0
    alive: float = 0.0
    stamp: float | None = None
    phase: str = ""
    paused: bool = False
    plain: float = 0.0
    plain_pauses: int = 0
    announced: float = 0.0
    read: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    stamped: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    printed: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def beat(self, at: float, stamp: float | None, printed: float | None) -> None:
        """A step was read; `printed` is the time from the step line before to this one, as the line tells it."""
        gap = at - self.at
        between = None if stamp is None or self.stamp is None else stamp - self.stamp
        if self.beats > WARM_UP:
            self._rest(max(gap, between if between is not None and between < LONGEST else 0.0))
        if self.beats and gap > 0:
            self.read.append(gap)
        if self.beats and between is not None and 0 < between < LONGEST:
            self.stamped.append(between)
        if printed is not None and 0 < printed < LONGEST:
            self.printed.append(printed)
        self.beats += 1
        self.at = self.alive = at
        self.stamp, self.phase, self.paused = stamp, "", False

    def _rest(self, gap: float) -> None:
        if gap < SHORT or (usual := self.usual) <= 0 or gap <= PAUSE * usual:
            return
        if self.paused:
            self.announced = max(self.announced, gap)
        else:
            self.plain_pauses += 1
            self.plain = max(self.plain, gap)

    def milestone(self, at: float, phase: str) -> None:
        """The log says that something else than a step begins or ends: an evaluation, a checkpoint, loading."""
        self.alive, self.phase, self.paused = at, phase, True

    @property
    def usual(self) -> float:
        """Seconds from step line to step line; 0 while unknown."""
        return max((median(gaps) for gaps in (self.read, self.stamped, self.printed) if gaps), default=0.0)

    @property
    def irregular(self) -> float:
        """Standard deviation of the gaps, in seconds."""
        return max((spread(gaps) for gaps in (list(self.read), list(self.stamped)) if gaps), default=0.0)

    @property
    def longest(self) -> float:
        """The longest pause of the kind that may be under way; 0 when none was seen.

        A job that announces its pauses is not in one that it does not announce.
        """
        if self.paused:
            return self.announced
        return max(self.plain, self.announced) if self.announced or self.plain_pauses >= KINDS else 0.0


def allowed(usual: float, irregular: float, longest: float, timeout: float, announced: bool = False) -> float:
    """Seconds of silence that need no word.

    Where no pause has ended by itself yet, nothing is known to be usual, and only a part of the `timeout`, after which
    the job would be ended, is left; a pause that is known may come again, and longer.
    """
    late = max((PART_ANNOUNCED if announced else PART) * timeout, 3 * usual, 1.2 * longest)
    if longest <= 0:
        return late
    return min(max(TIMES * usual, usual + SIGMAS * irregular, LEAST, AGAIN * longest), late)
