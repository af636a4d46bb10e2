"""Why a device idles: the host was late, the host had waited for the device, or something else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probes.files.trace.columns import Ints
from probes.files.trace.sweep import Spans, Timeline

SLACK = 10_000
"""ns by which a wait may end before the gap begins: clocks of host and device differ by a few microseconds."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Parts of the idle time in ns. `sync`: the host had waited for the device, which so ran dry; `host`: the host had
    not launched the next work yet; `other`: the work was launched and the device did not begin it."""

    host: int
    sync: int
    other: int


def launches(links: Ints, starts: Ints, wanted: Ints) -> Ints:
    """When the work of the correlations `wanted` was launched, in ns; -1 where the call is not in the trace."""
    if not len(links):
        return np.full(len(wanted), -1, dtype=np.int64)
    if not bool(np.all(links[1:] >= links[:-1])):
        # Calls of one thread come in order; those of several do not.
        order = np.argsort(links, kind="stable")
        links, starts = links[order], starts[order]
    place = np.searchsorted(links, wanted)
    np.minimum(place, len(links) - 1, out=place)
    found = (links[place] == wanted) & (wanted != 0)
    return np.where(found, starts[place], -1)


def idle_of(line: Timeline, begins: Ints, launched: Ints, waits: Spans) -> Idle | None:
    """Splits the gaps of a device; None when less than half of its work has a launch in the trace.

    `begins` and `launched` are start and launch of each piece of work; `waits` when the host waited for the device.
    """
    known = launched >= 0
    if not len(begins) or known.sum() * 2 < len(begins):
        return None
    gaps = line.busy.gaps()
    order = np.argsort(begins, kind="stable")
    begins, launched = begins[order], launched[order]
    place = np.searchsorted(begins, gaps.ends)
    place = np.minimum(place, len(begins) - 1)
    call = np.clip(np.where(launched[place] >= 0, launched[place], gaps.starts), gaps.starts, gaps.ends)
    late = call - gaps.starts
    after = np.searchsorted(waits.ends, gaps.starts - SLACK)
    held = after < len(waits.ends)
    at = np.minimum(after, max(len(waits.ends) - 1, 0))
    if len(waits.ends):
        held &= (waits.starts[at] <= gaps.starts + SLACK) & (waits.ends[at] <= call + SLACK)
    total = int((gaps.ends - gaps.starts).sum())
    sync = int(late[held].sum())
    host = int(late.sum()) - sync
    return Idle(host, sync, total - host - sync)
