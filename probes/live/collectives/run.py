"""A test from start to end: ranks are started, measured and ended."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

from probes.live.collectives.channel import Channel, RanksLost
from probes.live.collectives.measure import Request, measure
from probes.live.collectives.model import Lost, Result
from probes.live.collectives.start import WORKER, BenchError, Place, started

IMPORT = 30.0
"""Seconds that ranks of this machine are given to import torch, which a busy one takes, however short a step is."""

MARGIN = 30.0
"""Seconds that a rank's own time-out lies beyond ours, so that we say who is missing before all ranks complain."""


def run(
    request: Request,
    python: str = sys.executable,
    backend: str = "auto",
    ranks: int | None = None,
    place: Place | None = None,
    clock: Callable[[], float] = time.monotonic,
    script: Path = WORKER,
) -> Result | None:
    """Tests `ranks` ranks on this machine (None: one for each GPU), or takes part as the rank of `place`.

    None on ranks but 0: rank 0 has the result. Raises BenchError where the test cannot start. It ends within
    `request.total` seconds and a few more, and leaves no process behind. `script` is what
    the interpreter runs.
    """
    settings = {"backend": backend, "ranks": ranks, "timeout": request.step + MARGIN}
    begun = clock()
    if place is not None and place.rank:
        with started(python, settings, "", place) as worker, suppress(subprocess.TimeoutExpired):
            worker.process.wait(request.total + MARGIN)
        return None
    token = token_hex(16)
    with started(python, settings, token, place, script) as worker:
        assert worker.listener is not None
        channel = Channel(worker.listener, clock, token)
        try:
            try:
                wait = 2 * request.step if place else max(2 * request.step, IMPORT)
                world = channel.gather(place.world if place else None, min(request.total, wait), worker.ended)
            except RanksLost as lost:
                if place is None and not channel.ranks:
                    raise BenchError(lost.why) from None
                return Result(backend, lost=Lost(lost.ranks, "start", 0, lost.why))
            used = str(channel.launched["backend"]) if channel.launched else channel.backends.get(0, "gloo")
            result = measure(channel, world, used, request, begun, worker.ended)
            if result.lost and (words := worker.words()) and not result.lost.ranks:
                result = replace(result, lost=replace(result.lost, why=f"{result.lost.why} ({words})"))
            return result
        finally:
            channel.close()
