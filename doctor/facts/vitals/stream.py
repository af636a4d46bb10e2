"""One log, or the lines of one rank in a log of several: its heartbeat and its trends."""

from __future__ import annotations

from dataclasses import dataclass, field

from doctor.facts.beat import BEATS, COUNTS, is_beat
from doctor.facts.derive.progress import number, seconds_of
from doctor.facts.model import Event, Source
from doctor.facts.vitals.pulse import FEW, Pulse
from doctor.facts.vitals.trends import Trends

PAUSES = {
    "progress.eval_started": "eval",
    "progress.eval_done": "",
    "progress.save_started": "save",
    "progress.save_done": "",
    "progress.loading": "load",
    "progress.preparing_data": "load",
    "progress.initializing": "init",
}
BEGINS = ("progress.launching", "progress.training_started")
ENDS = ("progress.finished", "progress.train_summary")
MEASURES = (
    *("memory.sample", "host.memory_sample", "deepspeed.memory_usage", "deepspeed.microstep_timers"),
    *("deepspeed.step_timers", "megatron.timers", "moe.overload", "moe.violation", "moe.balance_loss"),
    "numerics.overflow_skip",
)
OF_INTEREST = frozenset((*BEATS, *PAUSES, *BEGINS, *ENDS, *MEASURES))
STRETCH = 5.0
"""Seconds over which steps are counted by the clock: logs are looked at each quarter of a second."""
FARTHEST = 100_000
"""Steps between two lines beyond which the number is no count of steps."""


@dataclass(slots=True)
class Stream:
    """What is known of one log. `over` is set by the lines that end a run; `first` is when it was first read."""

    run: str
    path: str
    rank: int | None
    first: float
    host: str | None = None
    pulse: Pulse = field(default_factory=Pulse)
    trends: Trends = field(default_factory=Trends)
    step: int | None = None
    counting: int = -1
    since: tuple[bool, float, float] | None = None
    """Where steps are counted from by the clock: whether by the stamps of lines, the time, and the step."""
    last: Source | None = None
    over: bool = False
    mfu: float | None = None
    saving: tuple[float, float | None] | None = None
    save: tuple[float, Source] | None = None

    def take(self, event: Event, at: float) -> None:
        """Note `event`, which was read at `at`."""
        self.host = event.host or self.host
        name = event.name
        if is_beat(event):
            self._beat(event, at)
        elif name == "progress.bar":
            self.pulse.goes_on(at)
        elif name in PAUSES:
            self._pause(event, at)
        elif name in BEGINS:
            self._begin(event, at)
        elif name in ENDS:
            self.over = True
        self.trends.see(event)

    @property
    def stepping(self) -> bool:
        """Does this log tell the steps of a run that goes on?"""
        return self.pulse.beats >= FEW and not self.over

    def _beat(self, event: Event, at: float) -> None:
        step = self._number(event)
        between = 1.0
        if step is not None:
            if self.step is not None and step < self.step and number(event, "epoch") is None:
                self.trends.begin()
            elif self.step is not None and 1 < step - self.step <= FARTHEST:
                between = step - self.step
            self.step = int(step)
        if step is not None:
            self._by_clock(step, event, at)
        seconds = seconds_of(event)
        self.pulse.beat(at, event.time, None if seconds is None else seconds * between)
        total = number(event, "total")
        self.last = event.source
        self.over = step is not None and total is not None and step >= total > 0 and number(event, "epoch") is None
        if (mfu := number(event, "mfu")) is not None:
            self.mfu = mfu
        elif (percent := number(event, "mfu_percent")) is not None:
            self.mfu = percent / 100

    def _number(self, event: Event) -> float | None:
        """The number of the step, unless the log tells it in a better way."""
        step = number(event, "step")
        kind = COUNTS.index(event.name) if event.name in COUNTS else -1
        if step is None or kind < self.counting:
            return None
        if kind > self.counting:
            self.counting, self.step = kind, None
        return step

    def _by_clock(self, step: float, event: Event, at: float) -> None:
        """The time of steps since some seconds ago, where nothing was announced and no step was done again."""
        stamped = event.time is not None
        now = event.time if event.time is not None else at
        if self.since is None or self.since[0] != stamped or not 0 <= step - self.since[2] <= FARTHEST:
            self.since = (stamped, now, step)
        elif step > self.since[2] and now - self.since[1] >= STRETCH:
            self.trends.clock.see((now - self.since[1]) / (step - self.since[2]), event.source)
            self.since = (stamped, now, step)

    def _pause(self, event: Event, at: float) -> None:
        self.since = None
        self.pulse.milestone(at, event.time, PAUSES[event.name])
        if event.name == "progress.save_started":
            self.saving = (at, event.time)
        elif event.name == "progress.save_done":
            seconds = _lasted(event, at, self.saving)
            self.saving = None
            if seconds is not None and (self.save is None or seconds > self.save[0]):
                self.save = (seconds, event.source)

    def _begin(self, event: Event, at: float) -> None:
        """Another attempt in the same file: its first steps are slow again."""
        self.pulse.milestone(at, event.time, "init")
        self.since = None
        if self.pulse.beats:
            self.pulse.beats, self.step, self.over = 0, None, False
            self.trends.begin()


def _lasted(event: Event, at: float, begun: tuple[float, float | None] | None) -> float | None:
    """Seconds of a save: as printed, else by the time stamps of its begin and end, else by when they were read."""
    if (seconds := number(event, "seconds")) is not None:
        return seconds
    if (minutes := number(event, "minutes")) is not None:
        return minutes * 60
    if (most := number(event, "max_ms")) is not None:
        return most / 1000
    if begun is None:
        return None
    if event.time is not None and begun[1] is not None:
        return max(event.time - begun[1], 0.0)
    return at - begun[0] if at > begun[0] else None
