"""When processes have come to where they wait, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

APART, LOOKS, PATIENCE = 0.25, 6, 120.0


def wait_until_they_stand(pids: Callable[[], Iterable[int]], polling: int = 0) -> None:
    """Waits until the main threads of these processes sleep and have not woken for several looks, all but as many as
    look again and again whether what they wait for has come. One that wants to run and gets no processor does not
    stand; one that has ended does."""
    end = time.monotonic() + PATIENCE
    before: dict[int, int] = {}
    still: dict[int, int] = {}
    while True:
        now = {pid: _waits(pid) for pid in pids()}
        still = {pid: still.get(pid, -1) + 1 if now[pid] in (before.get(pid), 0) else 0 for pid in now}
        before = now
        if now and sum(looks < LOOKS for looks in still.values()) <= polling:
            return
        assert time.monotonic() < end, f"they go on: {now}"
        time.sleep(APART)


def _waits(pid: int) -> int:
    """How often the main thread has begun to wait, where it does now; 0 when there is none, -1 while it runs."""
    try:
        with open(f"/proc/{pid}/task/{pid}/status") as file:
            told = dict(line.split(":", 1) for line in file)
    except OSError:
        return 0
    return int(told["voluntary_ctxt_switches"]) if told["State"].split()[0] in "SZX" else -1
