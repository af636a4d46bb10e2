"""The heartbeat of one log: how far apart its steps come, which pauses are usual, and how long a silence may last."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

KEPT = 48
"""Gaps that are remembered: enough for a median, and a change of rhythm is usual after half of them."""
FEW = 4
"""Steps before which a log has no rhythm."""
WARM_UP = 2
"""First steps, whose gaps are no pauses: compilation, allocator and connections make them slow in every framework."""
TIMES = 20.0
LEAST = 60.0
"""Usual gaps, and seconds, that a pause of a known kind may always last."""
AGAIN, AGAIN_UNTOLD = 3.0, 2.0
"""A pause of a known kind may last this many times as long as before, as storage that is shared varies; one that the
log does not announce twice as long as the longest."""
PART = 0.75
"""Share of the time-out that a silence of unknown kind may last: of PyTorch's ten minutes for NCCL 150 s are left."""
LAST = 0.9
"""The same of one that pauses before would explain: a minute is left to see where the ranks stand."""
OVER = 60.0
"""Seconds after the time-out at which it is known to have struck nobody: the watchdog looks every second, and says what
it found before anything else (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp)."""
PAUSE, SHORT = 2.0, 20.0
"""A gap of this many usual ones and seconds that ended by itself was a pause."""
LONGEST = 7 * 86400.0
"""Seconds. A larger difference of time stamps is a clock that was set."""


@dataclass(slots=True)
class Pulse:
    """Beats are steps, or lines that come with steps. Times are seconds; `at` is when a line was read, `stamp` its own.

    A gap is told in three ways, and the longest counts: when lines were read, which a buffer makes long; the time
    stamps of the lines, which tell the rhythm of what was written before anybody watched; the step time they print.

    `phase` is the pause that the log says is under way, empty for none; `pauses` the longest of each kind that ended,
    from `begun` on, the last step or milestone; `alive` is the last sign of life, which the bar of an evaluation gives,
    too. Kinds are kept apart: a checkpoint of seconds says nothing of an evaluation of minutes.
    """

    beats: int = 0
    at: float = 0.0
    alive: float = 0.0
    begun: float = 0.0
    stamp: float | None = None
    begun_stamp: float | None = None
    phase: str = ""
    pauses: dict[str, float] = field(default_factory=dict)
    read: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    stamped: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    printed: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def beat(self, at: float, stamp: float | None, printed: float | None) -> None:
        """A step was read; `printed` is the time from the step line before to this one, as the line tells it."""
        gap = at - self.at
        between = _between(self.stamp, stamp)
        self._sign(at, stamp)
        if self.beats and gap > 0:
            self.read.append(gap)
        if self.beats and between > 0:
            self.stamped.append(between)
        if printed is not None and 0 < printed < LONGEST:
            self.printed.append(printed)
        self.beats += 1
        self.at, self.stamp, self.phase = at, stamp, ""

    def milestone(self, at: float, stamp: float | None, phase: str) -> None:
        """The log says that something else than a step begins (`phase` says what) or ends (it is empty)."""
        self._sign(at, stamp)
        self.phase = phase

    def goes_on(self, at: float) -> None:
        """A sign of life of what is under way."""
        self.alive = at

    def _sign(self, at: float, stamp: float | None) -> None:
        """A step or milestone ends the pause before it, which is remembered by what the log said was under way."""
        lasted = max(at - self.begun, _between(self.begun_stamp, stamp))
        known = self.pauses.get(self.phase, 0.0)
        # Without a word of it, only what is far longer than a step was a pause.
        if self.beats > WARM_UP and lasted > known and (self.phase or (lasted > SHORT and lasted > PAUSE * self.usual)):
            self.pauses[self.phase] = lasted
        self.alive, self.begun, self.begun_stamp = at, at, stamp

    @property
    def usual(self) -> float:
        """Seconds from step line to step line; 0 while unknown."""
        return max((median(gaps) for gaps in (self.read, self.stamped, self.printed) if gaps), default=0.0)

    @property
    def longest(self) -> float:
        """The longest pause of the kind that is under way; 0 when none has ended yet."""
        return self.pauses.get(self.phase, 0.0)


def _between(first: float | None, second: float | None) -> float:
    """Seconds from one time stamp to the next; 0 where they tell none."""
    if first is None or second is None or not 0 < second - first < LONGEST:
        return 0.0
    return second - first


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds of silence that need no `word`, and those up to which what is told is in `doubt`: it may well be a pause
    that ends by itself."""

    word: float
    doubt: float


def patience(usual: float, longest: float, timeout: float, announced: bool = False) -> Patience:
    """How long a silence may be.

    A silence out of the blue may be the first of its kind, however many pauses of other kinds were seen, so that only
    the `timeout`, after which the job would be ended, tells when it is long. Of a pause that the log announces, those
    of the same kind before tell it sooner; the first of its kind can be held against nothing, and stays in doubt.
    Pauses that were as long tell it later, though not so late that nobody could look any more: unless they were longer
    than that themselves, and the time-out strikes no such pause.
    """
    unknown, last = max(PART * timeout, 3 * usual), LAST * timeout
    word = max(unknown, AGAIN_UNTOLD * longest)
    if announced and longest:
        word = min(word, max(TIMES * usual, LEAST, AGAIN * longest))
    if unknown <= last < word and longest <= last:
        word = last
    if announced:
        return Patience(word, max(word, AGAIN * (longest or timeout)))
    return Patience(word, max(word, AGAIN_UNTOLD * longest))


def allowed(usual: float, longest: float, timeout: float, announced: bool = False) -> float:
    """Seconds of silence that need no word."""
    return patience(usual, longest, timeout, announced).word
