"""How far a trace can be trusted: what in it cannot be, and what that means for the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from probes.files.trace.columns import Ints
from probes.files.trace.header import Header
from probes.files.trace.names import Call, Work, call_of, work_of
from probes.files.trace.read import Trace

MINUTE, DAY = 60_000_000_000, 86_400_000_000_000
"""In ns. Profilers hold seconds, at most minutes, of a run."""
FEW_KERNELS = 0.9
"""A session that misses so large a share of the kernels that the host launched is told."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Which rows of the device's table count, and how many do not, by reason."""

    good: np.ndarray
    negative: int = 0
    placeless: int = 0
    stray: int = 0
    endless: int = 0


def doubtful(starts: Ints, durations: Ints, trace: Trace) -> Doubts:
    """Leaves out work that cannot have been: with a negative duration, at time 0 without any (kineto#109), a day away
    from the rest, or lasting over a minute and twice as long as all else that was recorded."""
    if not len(starts):
        return Doubts(np.zeros(0, dtype=bool))
    negative = durations < 0
    placeless = (starts < 0) | ((starts == 0) & (durations == 0))
    middle = np.median(starts)
    stray = np.abs(starts - middle) > DAY
    placed = starts[~(placeless | stray)]
    calls = trace.host.column("starts")
    calls = calls[np.abs(calls - middle) <= DAY]
    window = max((int(times.max() - times.min()) for times in (placed, calls) if len(times)), default=0)
    endless = durations > max(MINUTE, 2 * window)
    stray &= ~(placeless | negative)
    endless &= ~(placeless | stray)
    return Doubts(
        ~(negative | placeless | stray | endless),
        *(int(part.sum()) for part in (negative, placeless & ~negative, stray, endless)),
    )


def remarks_of(trace: Trace, header: Header, doubts: Doubts, steps: bool, devices: int) -> Iterator[str]:
    """One line for each thing that a reader of the numbers should know."""
    yield from trace.warnings
    if trace.events == 0:
        yield "holds no events that could be read" if trace.text else "is empty"
        return
    if not trace.cut.closed:
        yield "the trace is cut off: its array of events does not end, so the last part of the run is missing"
    if trace.unreadable:
        yield f"{trace.unreadable} events are damaged and were left out"
    if trace.mended:
        yield "holds text that JSON forbids: events were read one by one and mended where possible"
    if trace.cut.lost:
        yield f"text of {trace.cut.lost} events of more than 64 MiB was left out"
    if doubts.negative:
        yield f"{doubts.negative} kernels have a negative duration and were left out"
    if doubts.placeless:
        yield f"{doubts.placeless} kernels lie at time 0 and were left out"
    if doubts.stray:
        yield f"{doubts.stray} kernels lie more than a day away from the rest and were left out"
    if doubts.endless:
        yield f"{doubts.endless} kernels last longer than the whole recording and were left out"
    if trace.rounded:
        yield "times are doubles since the epoch, which are a quarter of a microsecond apart: short gaps are not exact"
    elif not header.base and len(trace.device):
        yield "times are whole microseconds: kernels and gaps shorter than that are not exact"
    if not steps:
        yield "no ProfilerStep in it: nothing is told by step (call profiler.step() after each iteration)"
    if header.rank is None:
        yield "does not say which rank it is of (no distributedInfo)"
    yield from _missing(trace, devices)


def _missing(trace: Trace, devices: int) -> Iterator[str]:
    if not len(trace.device):
        yield "no work of a device was recorded: only the host can be judged"
        return
    names = trace.device.column("names")
    kinds = np.array([work_of(*key) for key in trace.names])[names]
    comm = np.flatnonzero(kinds == Work.COMM)
    bare = int((~np.isin(comm, trace.called.columns()[0])).sum())
    if bare:
        yield f"{bare} of {len(comm)} communication kernels do not say their process group: their role is unknown"
    if not len(trace.host):
        yield "no calls of the runtime were recorded: why the device idles is unknown"
        return
    launch = np.array([call_of(name) is Call.LAUNCH for name in trace.calls])[trace.host.column("names")]
    launched = trace.host.column("correlations")[launch]
    starts = trace.host.column("starts")[launch]
    first = int(trace.device.column("starts").min())
    before = launched[starts < first]
    early = int((~np.isin(before, trace.device.column("correlations"))).sum()) if len(before) else 0
    if len(launched) and early > max(10, (1 - FEW_KERNELS) * len(launched)):
        yield (
            f"{early} launches before the first kernel have no kernel: the profiler dropped the early ones"
            " (kineto#996), so the beginning looks idle"
        )
    if devices > 1:
        yield f"work of {devices} devices in one file: each is told for itself"
