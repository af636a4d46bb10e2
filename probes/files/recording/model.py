"""One rank's recording in bounded memory: sums of everything, and a thinned course of the steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TypeAlias

import msgspec

from probes.files.expert_loads.model import Loads

Held: TypeAlias = dict[str, int]

MOST_POINTS = 4096
"""Steps that are kept one by one; beyond it every second is dropped, again and again."""
WARM_UP = 3
"""Steps that compile kernels, start workers, open connections and make the optimizer's states."""
LARGEST = 1 << 60


class Device(msgspec.Struct, gc=False):
    """The GPU of a rank."""

    index: int = -1
    visible: str | None = None
    name: str = ""
    memory: int = 0
    bus: str | None = None


class Head(msgspec.Struct, gc=False):
    """The first line: who wrote."""

    pdoctor_recording: int
    rank: int = 0
    world_size: int = 1
    local_rank: int | None = None
    host: str = ""
    pid: int = 0
    at: float = 0.0
    torch: str = ""
    parameters: int = 0
    wrapped: list[str] = []
    zero_stage: int | None = None
    groups: dict[str, list[int]] = {}
    device: Device | None = None


class Line(msgspec.Struct, gc=False):
    """Any other line; `record` says what it tells."""

    record: str
    step: int = -1
    at: float = 0.0
    seconds: float | None = None
    data: float | None = None
    data_device: float | None = None
    between: float | None = None
    passes: int | None = None
    syncs: int | None = None
    allocated: int | None = None
    allocated_peak: int | None = None
    reserved: int | None = None
    reserved_peak: int | None = None
    inactive_split: int | None = None
    retries: int | None = None
    ooms: int | None = None
    layer: str = ""
    tokens_per_expert: list[float] = []
    parameters: Held = {}
    gradients: Held = {}
    optimizer: Held = {}
    loss: float | str | None = None
    why: str = ""
    lines: int = 0


@dataclass(slots=True)
class Point:
    """What is kept of a step."""

    step: int
    seconds: float
    allocated: int | None
    line: int


@dataclass(slots=True)
class Recording:
    """What one file tells of one attempt of a job: the last line of each kind, sums, and points in order."""

    head: Head
    path: str
    line: int = 1
    steps: int = 0
    seconds: float = 0.0
    data: float = 0.0
    loaded: int = 0
    device_data: float = 0.0
    device_steps: int = 0
    between: float = 0.0
    passes: dict[int, int] = field(default_factory=dict)
    reduced: int = 0
    accumulated: int = 0
    counted: int = 0
    last: Line | None = None
    last_line: int = 0
    held: Line | None = None
    off: str = ""
    lost: int = 0
    points: list[Point] = field(default_factory=list)
    stride: int = 1
    loads: Loads = field(default_factory=Loads)

    def add(self, line: Line, number: int) -> bool:
        """Takes a step; False for one that no clock can give."""
        seconds = line.seconds
        if seconds is None or not 0 <= seconds < 1e7 or not 0 <= line.step < LARGEST:
            return False
        counters = (line.allocated, line.reserved, line.allocated_peak, line.reserved_peak, line.inactive_split)
        if not all(value is None or 0 <= value < LARGEST for value in counters):
            return False
        self.last, self.last_line = line, number
        self.steps += 1
        if self.steps <= WARM_UP:
            return True
        self.seconds += seconds
        self.data += _within(line.data, seconds)
        self.loaded += line.data is not None
        self.device_data += _within(line.data_device, seconds)
        self.device_steps += line.data_device is not None
        self.between += _within(line.between, seconds)
        self._passes(line)
        if (self.steps - WARM_UP) % self.stride == 0:
            self.points.append(Point(line.step, seconds, line.allocated, number))
            if len(self.points) > MOST_POINTS:
                self.points = self.points[1::2]
                self.stride *= 2
        return True

    def _passes(self, line: Line) -> None:
        """Of the passes of a step all but the last accumulate."""
        if line.passes is None or not 0 < line.passes < 1 << 20:
            return
        if len(self.passes) < 1024:
            self.passes[line.passes] = self.passes.get(line.passes, 0) + 1
        if line.syncs is not None and 0 <= line.syncs <= line.passes:
            self.counted += 1
            self.accumulated += line.passes - 1
            self.reduced += max(line.syncs - 1, 0)

    @property
    def after(self) -> int:
        """Steps after the warm-up."""
        return max(self.steps - WARM_UP, 0)


def _within(value: float | None, most: float) -> float:
    return min(value, most) if value is not None and isfinite(value) and value > 0 else 0.0
