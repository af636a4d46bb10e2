"""The job on this node: its ranks, command lines, logs, configurations and flight recorder dumps, found by /proc."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from doctor.facts.model import Value
from probes.node.interface.host import Host
from probes.node.interface.model import Given, Place, ProbeSpec, Text, failed, measured, why
from probes.node.interface.processes import Job, Rank, ranks_here
from probes.secrets import redact_text

SPEC = ProbeSpec(
    "job",
    "training processes by /proc: ranks, command line, logs they write, configurations, flight recorder dumps",
    (
        *("rank.host", "rank.local_rank", "rank.pid", "job.name", "job.ranks_here", "job.world_size"),
        *("job.ranks_missing", "job.interpreter", "job.folder", "job.checkpoint_folders"),
    ),
    privilege="the job's user or root",
)

LOGS = (".log", ".out", ".err", ".txt", ".jsonl")
CONFIGS = (".json", ".yaml", ".yml", ".toml", ".sh")
LARGEST_CONFIG, MOST_LOGS, DEEPEST = 1 << 20, 2_000, 6
LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "deepspeed", "accelerate", "mpirun")
DUMPS = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
OLD_DUMP, DUMP = "/tmp/nccl_trace_rank_", "torch/comm_lib_trace_rank_"
"""Where ProcessGroupNCCL writes a dump, followed by the rank, unless a variable names another place; in newer
versions that is below $XDG_CACHE_HOME or $HOME/.cache (torch/csrc/distributed/c10d/FlightRecorder.cpp)."""
LOG_FOLDER = ("--log-dir", "--log_dir")
CHECKPOINTS = (
    *("--save", "--save-dir", "--output-dir", "--checkpoint-dir", "--checkpoint-path", "--ckpt-dir", "--ckpt-path"),
    *("--checkpoint.folder", "--default-local-dir", "--save-path"),
)
"""Arguments after which frameworks take the folder of their checkpoints; `_` counts as `-`."""


def probe(host: Host) -> Iterator[Given]:
    try:
        ranks = ranks_here(host)
    except OSError as error:
        yield failed("rank.host", why(error), host.node, "/proc")
        return
    if ranks.hidden:
        reason = f"{ranks.hidden} Python processes belong to another user: run this as that user or as root"
        yield failed("rank.host", reason, host.node, "/proc")
    if not ranks.job and ranks.jobs:
        wanted = f"process {host.pid} is of no job" if host.pid else f"no job is called {host.job}"
        yield failed("rank.host", f"{wanted} here; these run: {called(ranks.jobs)}", host.node, "/proc")
    elif ranks.others:
        reason = f"other jobs run here too and were not looked at: {called(ranks.others)}; choose with --job or --pid"
        yield failed("job.name", reason, host.node, "/proc")
    if ranks.job:
        yield from _job(host, next(job for job in ranks.jobs if job.ranks == ranks.job))


def called(jobs: Sequence[Job]) -> str:
    return ", ".join(f"{job.name} ({len(job.ranks)} ranks, launched by process {job.launcher})" for job in jobs)


def _job(host: Host, job: Job) -> Iterator[Given]:
    first = job.ranks[0]
    values: dict[str, Value] = {
        "job.name": job.name,
        "job.ranks_here": tuple(rank.rank for rank in job.ranks),
        "job.world_size": job.size,
    }
    for name, value in values.items():
        yield measured(name, value, "job", f"{first.proc}/environ", f"job {called([job])}")
    if not first.told:
        reason = "its processes do not say which rank they are: they count in the order in which they began"
        yield failed("job.ranks_here", reason, host.node, "/proc")
    if job.missing:
        shown = f"ranks {', '.join(map(str, job.missing))} were started on this node and have no process"
        yield measured("job.ranks_missing", job.missing, "job", f"{first.proc}/environ", shown)
    for rank in job.ranks:
        shown = f"pid {rank.pid}, rank {rank.rank}"
        yield measured("rank.host", host.name, rank.entity, f"{rank.proc}/environ", shown)
        yield measured("rank.pid", rank.pid, rank.entity, f"{rank.proc}/environ", shown)
        if rank.local is not None:
            yield measured("rank.local_rank", rank.local, rank.entity, f"{rank.proc}/environ", shown)
        yield from (Place(str(host.path(path))) for path in _dump(host, rank))
    yield from (Place(str(host.path(path))) for path in logs_of(host, job))
    yield from _commands(host, first)
    yield from _folders(host, first)
    yield from (Place(str(host.path(path))) for path in _configs(host, first))


def _launcher(host: Host, rank: Rank) -> tuple[str, ...]:
    """The command line of the parent, if that is a launcher."""
    with suppress(OSError):
        parent = tuple(host.text(f"/proc/{rank.parent}/cmdline").rstrip("\0").split("\0"))
        if any(word in " ".join(parent[:4]) for word in LAUNCHERS):
            return parent
    return ()


def _commands(host: Host, rank: Rank) -> Iterator[Text]:
    """The launcher's command line, if one is the parent, else that of the rank: both say the same of the job."""
    launcher = _launcher(host, rank)
    command, pid = (launcher, rank.parent) if launcher else (rank.command, rank.pid)
    yield Text(f"/proc/{pid}/cmdline", redact_text(shlex.join(command)) + "\n", host.name)


def _folders(host: Host, rank: Rank) -> Iterator[Given]:
    """Where the job runs, with which interpreter, and where its arguments put checkpoints."""
    path = f"{rank.proc}/cmdline"
    with suppress(OSError):
        yield measured("job.interpreter", os.readlink(host.path(f"{rank.proc}/exe")), "job", f"{rank.proc}/exe")
    with suppress(OSError):
        folder = os.readlink(host.path(f"{rank.proc}/cwd"))
        yield measured("job.folder", folder, "job", f"{rank.proc}/cwd")
        named = [os.path.normpath(os.path.join(folder, value)) for value in _values(rank.command, CHECKPOINTS)]
        if named:
            yield measured("job.checkpoint_folders", tuple(dict.fromkeys(named)), "job", path)


def _values(command: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """What follows the arguments called `names`, after a space or after `=`."""
    for word, after in zip(command, (*command[1:], ""), strict=False):
        name, sign, value = word.partition("=")
        if name.replace("_", "-") in names or name in names:
            value = value if sign else after
            if value and not value.startswith("-"):
                yield value


def logs_of(host: Host, job: Job) -> Iterator[str]:
    """Logs that the ranks have open, and those of ranks that ended, in the folder where torchrun keeps them."""
    found = {path for rank in job.ranks for path in _written(host, rank)}
    first = job.ranks[0]
    launcher = _launcher(host, first)
    with suppress(OSError):
        folder = os.readlink(host.path(f"/proc/{first.parent}/cwd"))
        for value in _values(launcher, LOG_FOLDER):
            top = str(host.path(os.path.join(folder, value)))
            began = os.stat(host.path(f"/proc/{first.parent}")).st_mtime
            found.update(islice(_below(host, top, began), MOST_LOGS))
    yield from sorted(found)


def _below(host: Host, top: str, since: float) -> Iterator[str]:
    root = "" if str(host.root) == "/" else str(host.root)
    for folder, names, files in os.walk(top):
        if folder[len(top) :].count("/") >= DEEPEST:
            names.clear()
        for name in files:
            path = os.path.join(folder, name)
            with suppress(OSError):
                if name.endswith(LOGS) and os.stat(path).st_mtime >= since and os.stat(path).st_size:
                    yield path.removeprefix(root)


def _written(host: Host, rank: Rank) -> Iterator[str]:
    """Files behind the process's output, and others it has open that are called like logs."""
    folder = f"{rank.proc}/fd"
    with suppress(OSError):
        for number in host.names(folder):
            with suppress(OSError):
                path = os.readlink(host.path(f"{folder}/{number}"))
                if (number in ("1", "2") or path.endswith(LOGS)) and _regular(host, path):
                    yield path


def _regular(host: Host, path: str, largest: int = 1 << 62) -> bool:
    if not path.startswith("/") or path.startswith(("/proc/", "/dev/", "/sys/")):
        return False
    try:
        found = os.stat(host.path(path))
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and 0 < found.st_size <= largest


def _configs(host: Host, rank: Rank) -> Iterator[str]:
    """Files that the command line names, from the folder where the process works."""
    with suppress(OSError):
        folder = os.readlink(host.path(f"{rank.proc}/cwd"))
        for word in rank.command[1:]:
            name = word.rpartition("=")[2]
            if name.endswith(CONFIGS) and _regular(host, path := os.path.join(folder, name), LARGEST_CONFIG):
                yield path


def _dump(host: Host, rank: Rank) -> Iterator[str]:
    """A dump that is younger than the process."""
    for path in dump_places(rank):
        with suppress(OSError):
            if _regular(host, path) and os.stat(host.path(path)).st_mtime >= os.stat(host.path(rank.proc)).st_mtime:
                yield path


def dump_places(rank: Rank) -> tuple[str, ...]:
    """Where the flight recorder of a rank may write, the likeliest first."""
    named = next((rank.environ[name] for name in DUMPS if rank.environ.get(name)), "")
    if named:
        return (f"{named}{rank.rank}",)
    cache = rank.environ.get("XDG_CACHE_HOME") or f"{rank.environ.get('HOME', '/tmp')}/.cache"
    return (f"{cache}/{DUMP}{rank.rank}", f"{OLD_DUMP}{rank.rank}")
