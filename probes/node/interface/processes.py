"""The ranks of a training job that run on this node, by /proc."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from probes.node.interface.host import Host

RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
SIZES = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
"""What torchrun, Slurm, Open MPI and MPICH tell a process of its place, in the order in which they count."""
JOB = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")
"""Ranks that agree in these are of one job."""
MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Rank:
    """A process that is a rank: its place, its environment, its command line."""

    pid: int
    parent: int
    rank: int
    local: int | None
    environ: Mapping[str, str]
    command: tuple[str, ...]

    @property
    def proc(self) -> str:
        return f"/proc/{self.pid}"

    @property
    def entity(self) -> str:
        return f"rank:{self.rank}"


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of the job that has most of them here, in order; how many others run; processes that hide theirs."""

    job: tuple[Rank, ...] = ()
    others: int = 0
    hidden: int = 0


def ranks_here(host: Host) -> Ranks:
    """Python processes with a rank. Workers of a data loader inherit it, and are told apart by their parent's."""
    found: dict[int, Rank] = {}
    hidden = 0
    for name in os.listdir(host.path("/proc")):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            command = tuple(host.text(f"/proc/{name}/cmdline", MOST).rstrip("\0").split("\0"))
            if not os.path.basename(command[0]).startswith("python"):
                continue
            rank = _rank(host, int(name), command)
        except PermissionError:
            hidden += 1
            continue
        except OSError:
            continue  # it ended meanwhile
        if rank is not None:
            found[rank.pid] = rank
    jobs: dict[tuple[str, ...], list[Rank]] = defaultdict(list)
    for rank in found.values():
        parent = found.get(rank.parent)
        if parent is None or parent.rank != rank.rank:
            jobs[tuple(rank.environ.get(name, "") for name in JOB)].append(rank)
    chosen = max(jobs.values(), key=len, default=[])
    return Ranks(tuple(sorted(chosen, key=lambda rank: rank.rank)), sum(map(len, jobs.values())) - len(chosen), hidden)


def _rank(host: Host, pid: int, command: tuple[str, ...]) -> Rank | None:
    pairs = (part.partition("=") for part in host.text(f"/proc/{pid}/environ", MOST).split("\0"))
    environ = {name: value for name, sign, value in pairs if sign}
    rank, size, local = (_number(environ, names) for names in (RANKS, SIZES, LOCAL))
    if rank is None or size is None:
        return None
    # after the name in brackets, which may hold anything: state, then the parent
    parent = host.text(f"/proc/{pid}/stat").rpartition(")")[2].split()[1]
    return Rank(pid, int(parent), rank, local, environ, command)


def _number(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    value = next((environ[name] for name in names if name in environ), "")
    return int(value) if value.isdecimal() and len(value) < 8 else None
