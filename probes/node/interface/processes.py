"""The training jobs that run on this node and their ranks, by /proc."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from probes.node.interface.connected import circles
from probes.node.interface.host import Host

OWN_RANKS, OWN_SIZES = ("RANK",), ("WORLD_SIZE",)
RANKS = (*OWN_RANKS, "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
SIZES = (*OWN_SIZES, "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
"""What torchrun, Slurm, Open MPI and MPICH tell a process of its place, in the order in which they count."""
JOB = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE")
"""Ranks that agree in these are of one job; where none is set, ranks of one session are."""
NAMES = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "MASTER_PORT")
"""What a person calls a job by, the best first."""
NO_NAME = ("", "none")
LIBRARIES = ("/libtorch", "/libnccl", "/librccl", "/libgloo", "/libhccl", "/xla_extension", "/libmpi")
"""A program whose place Slurm or MPI alone told is a rank when it has loaded one of these: they tell shells as well."""
THREADS = ("pt_gloo", "pt_nccl", "pt_tcpstore", "gloo_", "NCCL ")
"""How threads of PyTorch's process groups, of gloo and of NCCL are called; a scheduler's worker that merely loaded
PyTorch has none."""
MOST, MOST_MAPS, FIELDS = 1 << 20, 8 << 20, 20


@dataclass(frozen=True, slots=True)
class Rank:
    """A process that is a rank: its place, its environment, its command line.

    `size` counts the ranks of the job (0 if not known), `here` those that were started on this node (0 if that is not
    told); `began` is in clock ticks since the boot; `told` is false where only the order of processes tells the rank.
    """

    pid: int
    parent: int
    rank: int
    local: int | None
    environ: Mapping[str, str]
    command: tuple[str, ...]
    size: int = 0
    here: int = 0
    session: int = 0
    began: int = 0
    told: bool = True

    @property
    def proc(self) -> str:
        return f"/proc/{self.pid}"

    @property
    def entity(self) -> str:
        return f"rank:{self.rank}"


@dataclass(frozen=True, slots=True)
class Job:
    """Ranks of one job on this node, in order."""

    ranks: tuple[Rank, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the job can be called by: its number with the scheduler, its rendezvous, its port, its launcher."""
        told = [self.ranks[0].environ.get(name, "") for name in NAMES]
        return tuple(dict.fromkeys([*(name for name in told if name not in NO_NAME), str(self.launcher)]))

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def launcher(self) -> int:
        """The process that started most of the ranks."""
        return Counter(rank.parent for rank in self.ranks).most_common(1)[0][0]

    @property
    def size(self) -> int:
        return max(rank.size for rank in self.ranks)

    @property
    def whole(self) -> bool:
        """Does no rank of it run on another node, as far as its ranks were told?"""
        first = self.ranks[0]
        return (first.here or len(self.ranks)) == self.size or first.environ.get("GROUP_WORLD_SIZE") == "1"

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks that were started on this node and have no process here any more."""
        placed = [rank for rank in self.ranks if rank.local is not None and 0 <= rank.local <= rank.rank]
        first = self.ranks[0]
        here = first.here or (self.size if _local(first.environ.get("MASTER_ADDR", "")) else 0)
        bases = {rank.rank - rank.local for rank in placed if rank.local is not None}
        if len(bases) > 1 or not here:
            return ()
        base = bases.pop() if bases else 0
        known = {rank.rank for rank in self.ranks}
        return tuple(rank for rank in range(base, base + here) if rank not in known)


def _local(address: str) -> bool:
    return address == "localhost" or address.startswith("127.")


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of the job that was chosen, in order; all jobs; processes that hide whether they are ranks."""

    job: tuple[Rank, ...] = ()
    jobs: tuple[Job, ...] = ()
    hidden: int = 0

    @property
    def others(self) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if job.ranks != self.job)


def ranks_here(host: Host) -> Ranks:
    """The ranks of the job that `host` names, or of the one with most ranks here; none if no job is called that."""
    return host.memo.of((ranks_here, host.root, host.job, host.pid), lambda: _ranks(host))


def _ranks(host: Host) -> Ranks:
    found: dict[int, Rank] = {}
    hidden = 0
    for name in os.listdir(host.path("/proc")):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            rank = _rank(host, int(name))
        except PermissionError:
            hidden += 1
            continue
        except OSError:
            continue  # it ended meanwhile
        if rank is not None:
            found[rank.pid] = rank
    known = [*_jobs(host, found), *_untold(host)]
    jobs = tuple(sorted(known, key=lambda job: (-len(job.ranks), job.ranks[0].began)))
    chosen = next((job for job in jobs if _is_wanted(host, job)), None)
    return Ranks(chosen.ranks if chosen else (), jobs, hidden)


def _untold(host: Host) -> Iterator[Job]:
    """Jobs whose ranks set their place for themselves, as a script does that forks or spawns: processes with threads
    that communicate, connected with each other. They count in the order in which they began."""
    began: dict[int, tuple[int, int]] = {}
    for name in os.listdir(host.path("/proc")):
        with suppress(OSError):
            if not name.isdecimal() or int(name) == os.getpid() or not _is_python(_command(host, int(name))):
                continue
            if _number(_environ(host, int(name)), RANKS) is None and _trains(host, int(name)):
                fields = _status(host, int(name))
                if _communicates(host, int(name)):
                    began[int(name)] = (int(fields[19]), int(name))
    for circle in circles(host, began):
        with suppress(OSError):
            order = sorted(circle.pids, key=lambda pid: began[pid])
            size = len(order) if circle.alone else 0
            yield Job(tuple(_untold_rank(host, pid, number, size) for number, pid in enumerate(order)))


def _untold_rank(host: Host, pid: int, number: int, size: int) -> Rank:
    fields = _status(host, pid)
    one = Rank(pid, int(fields[1]), number, number, _environ(host, pid), _command(host, pid), size, told=False)
    return replace(one, session=int(fields[3]), began=int(fields[19]))


def process_as(host: Host, pid: int, rank: int) -> Rank:
    """A process that says otherwise than by its environment which rank it is; OSError where it cannot be looked at."""
    return replace(_untold_rank(host, pid, rank, 0), local=None, told=True)


def is_of(host: Host, rank: Rank) -> bool:
    """Is the rank of the job that `host` names by process or number?"""
    return _is_wanted(host, Job((rank,)))


def _communicates(host: Host, pid: int) -> bool:
    """Does a thread of it belong to PyTorch's process groups, to gloo or to NCCL, by its name?"""
    folder = f"/proc/{pid}/task"
    return any(host.text(f"{folder}/{thread}/comm").startswith(THREADS) for thread in os.listdir(host.path(folder)))


def _is_wanted(host: Host, job: Job) -> bool:
    if host.pid:
        lines = {job.launcher, *(rank.pid for rank in job.ranks)}
        above = [host.pid, *_ancestors(host, host.pid)]
        # The process may also be a script that started the launcher.
        return any(pid in lines for pid in above) or host.pid in _ancestors(host, job.ranks[0].pid)
    return host.job in job.names if host.job else True


def _jobs(host: Host, found: Mapping[int, Rank]) -> Iterator[Job]:
    """Ranks put together by what they share. What a rank starts inherits its place, and is no rank."""
    groups: dict[tuple[str, ...], list[Rank]] = defaultdict(list)
    for rank in found.values():
        if any(pid in found and found[pid].rank == rank.rank for pid in _ancestors(host, rank.pid)):
            continue
        key = tuple(rank.environ.get(name, "") for name in JOB)
        groups[key if any(key) else (str(rank.session),)].append(rank)
    for ranks in groups.values():
        for own in _apart(ranks):
            yield Job(tuple(sorted(own, key=lambda rank: (rank.rank, rank.pid))))


def _apart(ranks: Sequence[Rank]) -> Iterable[Sequence[Rank]]:
    """Without processes whose rank ended before them, as workers of a data loader do; by launcher where ranks come
    twice, as in two containers that use one port."""
    if any(rank.parent != 1 for rank in ranks):
        ranks = [rank for rank in ranks if rank.parent != 1]
    if len({rank.rank for rank in ranks}) == len(ranks):
        return [ranks]
    by_launcher: dict[int, dict[int, Rank]] = defaultdict(dict)
    for rank in sorted(ranks, key=lambda rank: rank.began):
        by_launcher[rank.parent].setdefault(rank.rank, rank)
    return [list(own.values()) for own in by_launcher.values()]


def _ancestors(host: Host, pid: int) -> Iterator[int]:
    for _ in range(32):
        try:
            pid = int(_status(host, pid)[1])
        except (OSError, LookupError, ValueError):
            return
        if pid <= 1:
            return
        yield pid


def _status(host: Host, pid: int) -> list[str]:
    """The state, the parent, the group, the session ... of /proc/PID/stat, after the name, which may hold anything."""
    fields = host.text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return [*fields, *["0"] * (FIELDS - len(fields))]


def _rank(host: Host, pid: int) -> Rank | None:
    command = _command(host, pid)
    if not command[0]:
        return None  # a thread of the kernel, or a process that has ended and waits to be reaped
    python = _is_python(command)
    try:
        environ = _environ(host, pid)
    except PermissionError:
        if python:
            raise
        return None
    rank, size, local = (_number(environ, names) for names in (RANKS, SIZES, LOCAL))
    if rank is None or size is None:
        return None
    told = _number(environ, OWN_RANKS) is not None and _number(environ, OWN_SIZES) is not None
    if not (told and python) and not _trains(host, pid):
        return None
    fields = _status(host, pid)
    if fields[0] in ("Z", "X"):
        return None
    one = Rank(pid, int(fields[1]), rank, local, environ, command, size)
    return replace(one, here=_number(environ, LOCAL_SIZES) or 0, session=int(fields[3]), began=int(fields[19]))


def _command(host: Host, pid: int) -> tuple[str, ...]:
    return tuple(host.text(f"/proc/{pid}/cmdline", MOST).rstrip("\0").split("\0"))


def _is_python(command: Sequence[str]) -> bool:
    return os.path.basename(command[0]).startswith("python")


def _environ(host: Host, pid: int) -> dict[str, str]:
    pairs = (part.partition("=") for part in host.text(f"/proc/{pid}/environ", MOST).split("\0"))
    return {name: value for name, sign, value in pairs if sign}


def _trains(host: Host, pid: int) -> bool:
    """Has the process loaded a library that trains or communicates?"""
    maps = host.text(f"/proc/{pid}/maps", MOST_MAPS)
    return any(library in maps for library in LIBRARIES)


def _number(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    value = next((environ[name] for name in names if name in environ), "")
    return int(value) if value.isdecimal() and len(value) < 8 else None
