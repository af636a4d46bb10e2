"""What one log tells of how its run fares: pace, memory, gradients, loss scale, experts, waiting for data."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

from doctor.facts.derive.memory_trend import bytes_in_use
from doctor.facts.derive.progress import number, seconds_of
from doctor.facts.model import Event, Source
from doctor.facts.vitals.growth import Growth
from doctor.facts.vitals.loss_scale import LossScale
from doctor.facts.vitals.robust import Shift, spread

SLOWER = 1.2
"""Loss of speed that lasts and is told: far beyond the jitter of a healthy job, which is held in tests/facts/vitals."""
UNEVEN = 1.3
"""Growth of the busiest expert's load over the mean, as for the whole log (doctor/facts/derive/experts.py)."""
WINDOW = 64
SPIKE = 5.0
SIGMAS = 8.0
"""A gradient norm is a spike from five times the usual one on, if that is as many sigmas away."""
PART = 0.5
"""Less than this of the time from step to step is not taken for the time of a step."""
RATES = ("tokens_per_s_gpu", "tflops", "mfu", "mfu_percent", "samples_per_s")
"""What is printed of the speed, the least dependent on batch and sequence length first."""


@dataclass(slots=True)
class Trends:
    """The series of one log. Memory is bounded: some hundred numbers a series."""

    rates: dict[str, Shift] = field(default_factory=dict)
    pace: Shift = field(default_factory=lambda: Shift(SLOWER))
    clock: Shift = field(default_factory=lambda: Shift(SLOWER))
    """Seconds a step by the clock, for logs that tell no time of a step."""
    data: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    own: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    compute: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    gpu: Growth = field(default_factory=Growth)
    host: Growth = field(default_factory=Growth)
    gradients: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    spikes: deque[tuple[int, float, Source]] = field(default_factory=lambda: deque(maxlen=8))
    scales: dict[str, LossScale] = field(default_factory=dict)
    experts: dict[str, Shift] = field(default_factory=dict)
    normed: int = 0
    batch: float | None = None
    percent: float | None = None
    seconds: float | None = None
    last_data: Source | None = None

    def see(self, event: Event) -> None:
        name, source = event.name, event.source
        if name in ("progress.step", "progress.rate", "progress.step_time", "progress.bar"):
            self._progress(event)
        elif name in ("memory.sample",):
            self._memory(event)
        elif name in ("host.memory_sample", "deepspeed.memory_usage"):
            if (used := bytes_in_use(event)) is not None:
                self.host.see(_step(event, "at_step"), used, source)
        elif name in ("deepspeed.microstep_timers", "deepspeed.step_timers", "megatron.timers"):
            if (forward := number(event, "forward_ms")) is not None:
                self.compute.append(forward / 1000)
        elif name in ("moe.overload", "moe.violation", "moe.balance_loss"):
            value = number(event, "factor", "violation", "value")
            if value is not None:
                load = value + 1 if name == "moe.violation" else value
                self.experts.setdefault(name, Shift(UNEVEN)).see(load, source)
        elif name == "numerics.overflow_skip" and (reduced := number(event, "reduced")) is not None:
            self.scales.setdefault(name, LossScale()).see(reduced, source)

    def _progress(self, event: Event) -> None:
        source = event.source
        if (batch := number(event, "global_batch")) is not None and batch != self.batch:
            if self.batch is not None:
                self.restart()
            self.batch = batch
        seconds = seconds_of(event)
        if seconds is not None and seconds > 0:
            self.seconds = seconds
            # A bar smooths its rate over many steps, so that its values are no independent ones.
            if event.name != "progress.bar":
                self.pace.see(seconds, source)
                self.own.append(seconds)
        for name in RATES:
            if name in event.fields and (rate := number(event, name)) is not None and rate > 0:
                self.rates.setdefault(name, Shift(SLOWER, rises=False)).see(rate, source)
        waited = number(event, "data_time_s", "data_time")
        if waited is not None:
            milliseconds = event.name == "progress.rate" and event.fields.get("unit") == "ms"
            self.data.append(waited / 1000 if milliseconds else waited)
            self.last_data = source
        if (percent := number(event, "memory_percent")) is not None:
            self.percent = percent
        self._memory(event)
        if (norm := number(event, "grad_norm")) is not None:
            self._gradient(norm, event)
        if (scale := number(event, "loss_scale")) is not None:
            self.scales.setdefault(event.name, LossScale()).see(scale, source)

    def _memory(self, event: Event) -> None:
        if (used := bytes_in_use(event)) is not None:
            self.gpu.see(_step(event, "at_step", "step", "iteration"), used, event.source)

    def _gradient(self, norm: float, event: Event) -> None:
        usual = self.gradients
        self.normed += 1
        # The least of them costs less to find than the median, and rules out nearly all.
        if len(usual) >= WINDOW // 2 and norm > SPIKE * min(usual):
            middle = median(usual)
            if norm > SPIKE * middle and norm > middle + SIGMAS * spread(usual, middle):
                self.spikes.append((self.normed, norm / middle if middle > 0 else norm, event.source))
        usual.append(norm)

    def restart(self) -> None:
        """What is usual has to be learnt again: the batch has another size."""
        self.pace, self.clock, self.rates = Shift(SLOWER), Shift(SLOWER), {}
        self.own.clear()
        self.data.clear()
        self.compute.clear()

    def begin(self) -> None:
        """Another attempt, or one that went back to a checkpoint: its loss scale is searched for anew."""
        self.restart()
        self.scales.clear()

    def slower(self) -> tuple[str, Shift] | None:
        """The measure of speed that is told by, and its series; None before any is known."""
        for name in RATES:
            if (series := self.rates.get(name)) is not None and series.recent:
                return name, series
        # A time that is printed, were it once or by a bar, is nearer to the steps than the lines are, unless it is that
        # of a small part of the step, such as the forward pass without the loading of data: that says little of both.
        part = self.pace.now is not None and self.clock.seen is not None and self.pace.now < PART * self.clock.seen
        if self.pace.recent and not part:
            return "step time", self.pace
        return ("step time", self.clock) if self.clock.recent and (part or not self.pace.count) else None

    @property
    def fall(self) -> tuple[float, float, Source] | None:
        """The loss scale that fell the most, as LossScale.fall tells it."""
        falls = [fall for series in self.scales.values() if (fall := series.fall) is not None]
        return max(falls, key=lambda fall: fall[0], default=None)

    def spiking(self) -> list[tuple[int, float, Source]]:
        """The spikes of the gradient norm among the last `WINDOW` values."""
        return [spike for spike in self.spikes if spike[0] > self.normed - WINDOW]


def _step(event: Event, *names: str) -> float | None:
    value = number(event, *names)
    return float(event.step) if value is None and event.step is not None else value
