"""Asks the ranks of this node for a dump of PyTorch's flight recorder, while the job runs on.

Where TORCH_NCCL_DEBUG_INFO_PIPE_FILE is set, rank N of a job over NCCL makes the named pipe `<value>N.pipe` and looks
into it once a second; any byte in it has the recorder write its usual file, and nothing else happens (DumpPipe in
torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp, the loop of HeartbeatMonitor in ProcessGroupNCCL.cpp).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from probes.files.flight_recorder import is_dump
from probes.live.dumps.pipe import poke
from probes.node.interface.host import Host
from probes.node.interface.processes import Rank
from probes.node.job import dump_places

PIPE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
WAIT, SETTLED, LOOK = 15.0, 0.4, 0.1
"""Seconds that all ranks together are given; for which a file must not have grown; between two looks."""

Print = tuple[int, int, int]
"""What changes of a file when it is written anew: inode, size, time."""


@dataclass(slots=True)
class Flight:
    """The new dump of each rank that wrote one; for the others why there is none, and their ranks."""

    dumped: dict[int, Path] = field(default_factory=dict)
    refused: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class _Asked:
    rank: Rank
    before: dict[Path, Print]
    last: Print = (0, 0, 0)
    since: float = 0.0


def dump_flight_recorders(host: Host, ranks: Sequence[Rank], wait: float = WAIT) -> Flight:
    """Writes to the pipe of each rank and waits for its dump; never raises."""
    flight, open_ones = Flight(), []
    for rank in ranks:
        before = {path: found for place in dump_places(rank) if (found := _print(path := _place(host, rank, place)))}
        try:
            _ask(host, rank)
        except LookupError as error:
            flight.refused[str(error.args[0])].append(rank.rank)
        else:
            open_ones.append(_Asked(rank, before))
    end = time.monotonic() + wait
    while open_ones and time.monotonic() < end:
        open_ones = [one for one in open_ones if not _written(host, one, flight)]
        if open_ones:
            time.sleep(LOOK)
    for one in open_ones:
        flight.refused[f"wrote no dump within {wait:g} s"].append(one.rank.rank)
    return flight


def _ask(host: Host, rank: Rank) -> None:
    """Writes a byte to the rank's pipe; LookupError says why not."""
    stem = rank.environ.get(PIPE, "")
    if not stem:
        raise LookupError(f"{PIPE} is not set in the job")
    try:
        poke(_place(host, rank, f"{stem}{rank.rank}.pipe"), "the pipe of the flight recorder")
    except FileNotFoundError:
        raise LookupError("made no pipe for its flight recorder: only a process group over NCCL does") from None


def _written(host: Host, one: _Asked, flight: Flight) -> bool:
    """Has the rank written a dump that is whole?"""
    for place in dump_places(one.rank):
        path = _place(host, one.rank, place)
        found = _print(path)
        if found is None or found == one.before.get(path) or not found[1]:
            continue
        if found != one.last:
            one.last, one.since = found, time.monotonic()
        elif time.monotonic() - one.since >= SETTLED and is_dump(path):
            flight.dumped[one.rank.rank] = path
            return True
    return False


def _place(host: Host, rank: Rank, path: str) -> Path:
    """Where this process sees a file of the rank, which may live in a container."""
    return host.path(f"{rank.proc}/root{path}" if path.startswith("/") else f"{rank.proc}/cwd/{path}")


def _print(path: Path) -> Print | None:
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None
