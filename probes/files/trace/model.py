"""The summary of one trace: kilobytes that say what the facts need. All times are whole nanoseconds."""

from __future__ import annotations

import msgspec

FORMAT = 5
"""Raised with any change of what a summary holds or how it is computed: kept summaries of others are not read."""


class Parts(msgspec.Struct, frozen=True):
    """Where the time of a device, or of a step on it, went."""

    span: int
    busy: int
    compute: int
    comm: int
    exposed_comm: int
    exposed_memory: int

    @property
    def idle(self) -> int:
        return self.span - self.busy

    @property
    def overlap(self) -> int:
        return self.comm - self.exposed_comm


class Kernel(msgspec.Struct, frozen=True):
    """All calls of the work of one name."""

    name: str
    time: int
    count: int


class Device(msgspec.Struct, frozen=True):
    """One device: the whole, its steps, and why it idles; -1 where the trace does not tell.

    `exposed_by_step` is exposed communication by role, `top_by_step` the time of each of `top`, step by step.
    """

    index: int
    name: str
    whole: Parts
    steps: tuple[Parts, ...]
    kernels: int
    median: int
    top: tuple[Kernel, ...]
    exposed_by_role: dict[str, int]
    comm_by_role: dict[str, int]
    idle_host: int = -1
    idle_sync: int = -1
    idle_other: int = -1
    pageable: int = 0
    launch_lag: int = -1
    recomputed: int = -1
    same: dict[str, tuple[int, int]] = {}
    exposed_by_step: dict[str, tuple[int, ...]] = {}
    top_by_step: tuple[tuple[int, ...], ...] = ()


class Collectives(msgspec.Struct, frozen=True):
    """Collectives in order: what each is (an index of `kinds`), its number in the group (-1 unknown), when it ran."""

    kinds: tuple[tuple[str, str, str, int, str, int, int], ...] = ()
    kind: tuple[int, ...] = ()
    sequence: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    duration: tuple[int, ...] = ()


class Summary(msgspec.Struct, frozen=True):
    """One file. `rank` is as stated in it; `base` is what its times count from, in ns since the epoch."""

    rank: int | None
    world_size: int | None
    host: str
    base: int
    first: int
    last: int
    events: int
    devices: tuple[Device, ...]
    step_names: tuple[str, ...] = ()
    step_times: tuple[int, ...] = ()
    launches: int = 0
    sync_time: int = 0
    sync_calls: int = 0
    item_calls: int = 0
    allocate_time: int = 0
    allocate_calls: int = 0
    data_time: int = -1
    collect_time: int = -1
    collect_calls: int = 0
    collectives: Collectives = Collectives()
    remarks: tuple[str, ...] = ()
    readable: bool = True
    columns: int = 0
    backend: str = ""
