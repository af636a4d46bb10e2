"""Reads what PyTorch's flight recorder dumped when a job hung, and says who holds the job up.

The recorder keeps the last calls of every rank (TORCH_FR_BUFFER_SIZE, TORCH_NCCL_TRACE_BUFFER_SIZE) and writes one file
a rank. Format: torch/csrc/distributed/c10d/FlightRecorder.hpp and its reader torch/distributed/flight_recorder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from doctor.facts.model import Fact
from probes.files.flight_recorder.facts import facts
from probes.files.flight_recorder.model import Dump
from probes.files.flight_recorder.normal import NoDump, normal, too_new
from probes.files.flight_recorder.ranks import UNKNOWN, moments, rank_in_name, rank_of
from probes.files.flight_recorder.unpack import DumpError, document, is_dump
from probes.files.flight_recorder.verdict import verdict
from probes.files.flight_recorder.world import World
from probes.files.uncollected import uncollected

__all__ = ["DumpsReading", "is_dump", "read_dumps"]

PARALLEL_BYTES = 64 << 20
"""Together so large, dumps are read by several processes."""

Named: TypeAlias = tuple[Path, str]
"""A file and how it is shown."""

Elsewhere: TypeAlias = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]], Callable[[int, Any], None]], list[int]]
"""Calls a function on other machines, tells each result with its place, and gives back the places that are left."""


@dataclass(slots=True)
class DumpsReading:
    """What the dumps say; the rank of each file; remarks by file."""

    facts: list[Fact] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def says(self, name: str, text: str) -> None:
        self.warnings.setdefault(name, []).append(f"{name}: {text}")


def read_dumps(files: Sequence[Named], elsewhere: Elsewhere | None = None) -> DumpsReading:
    """The verdict over the dumps of the last moment among `files`, each of which `is_dump` takes for one.

    `elsewhere` reads the files first; what it leaves is read here.
    """
    with uncollected():
        return _judged(files, elsewhere)


def _judged(files: Sequence[Named], elsewhere: Elsewhere | None) -> DumpsReading:
    reading = DumpsReading()
    dumps: list[Dump] = []
    for (_, name), told in zip(files, _everywhere(files, elsewhere), strict=True):
        if isinstance(told, str):
            reading.says(name, told)
            continue
        rank = rank_of(told)
        if rank == UNKNOWN:
            reading.says(name, "neither its name nor its groups tell which rank wrote it: it was left out")
            continue
        if too_new(told.version):
            reading.says(name, f"version {told.version} is newer than 2.10; it was read as far as it looks alike")
        told.rank = reading.ranks[name] = rank
        dumps.append(told)
    every = moments(dumps)
    if every:
        world = World(every[0])
        reading.facts += facts(world, verdict(world))
        _remarks(reading, dumps, world)
    return reading


def _remarks(reading: DumpsReading, dumps: Iterable[Dump], world: World) -> None:
    judged = {dump.path for dump in world.dumps.values()}
    twins = {(dump.rank, dump.newest) for dump in world.dumps.values()}
    for dump in dumps:
        if dump.path not in judged and (dump.rank, dump.newest) not in twins:
            reading.says(dump.path, f"an earlier moment than the {len(world.dumps)} dumps judged: it was left out")
    first = min(judged)
    versions = sorted({dump.version for dump in world.dumps.values()})
    if len(versions) > 1:
        reading.says(first, f"the dumps have several versions ({', '.join(versions)}): the ranks run several PyTorches")
    if all(dump.backends <= {"gloo"} for dump in world.dumps.values()) and not any(
        d.pending for d in world.dumps.values()
    ):
        reading.says(first, "gloo records no send or receive: a hang in those does not show in these dumps")


def _everywhere(files: Sequence[Named], elsewhere: Elsewhere | None) -> list[Dump | str]:
    found: dict[int, Dump | str] = {}
    left = elsewhere(read_dump, files, found.__setitem__) if elsewhere is not None else list(range(len(files)))
    found.update(zip(left, _read([files[place] for place in left]), strict=True))
    return [found[place] for place in range(len(files))]


def read_dump(path: Path, name: str) -> Dump | str:
    """The dump in one file, or why it is none."""
    return _one((path, name))


def _read(files: Sequence[Named]) -> list[Dump | str]:
    """Each file's dump, or why it is none."""
    workers = min(os.cpu_count() or 1, 8)
    if workers > 1 and sum(path.stat().st_size for path, _ in files if path.exists()) > PARALLEL_BYTES:
        try:
            with ProcessPoolExecutor(workers) as pool:
                return list(pool.map(_one, files, chunksize=4))
        except (BrokenProcessPool, OSError):
            pass  # one process reads what several could not
    return [_one(file) for file in files]


def _one(file: Named) -> Dump | str:
    path, name = file
    try:
        with uncollected():
            return normal(name, rank_in_name(name), document(path))
    except (DumpError, NoDump) as error:
        return str(error)
    except (MemoryError, RecursionError):
        return "is nested or sized beyond any dump"
    except Exception as error:  # nothing that a file holds may end the analysis
        return f"cannot be understood: {type(error).__name__}: {str(error)[:120]}"
