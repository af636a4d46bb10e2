"""The job on this node: its ranks, command lines, logs, configurations and flight recorder dumps, found by /proc."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress

from probes.node.interface.host import Host
from probes.node.interface.model import Given, Place, ProbeSpec, Text, failed, measured, why
from probes.node.interface.processes import Rank, ranks_here
from probes.secrets import redact_text

SPEC = ProbeSpec(
    "job",
    "training processes by /proc: ranks, command line, logs they write, configurations, flight recorder dumps",
    ("rank.host", "rank.local_rank"),
    privilege="the job's user or root",
)

LOGS = (".log", ".out", ".err", ".txt", ".jsonl")
CONFIGS = (".json", ".yaml", ".yml", ".toml", ".sh")
LARGEST_CONFIG = 1 << 20
LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "deepspeed", "accelerate", "mpirun")
DUMPS = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
DUMP = "/tmp/nccl_trace_rank_"
"""Where ProcessGroupNCCL writes a dump, followed by the rank, unless a variable names another place."""


def probe(host: Host) -> Iterator[Given]:
    try:
        ranks = ranks_here(host)
    except OSError as error:
        yield failed("rank.host", why(error), host.node, "/proc")
        return
    if ranks.hidden:
        reason = f"{ranks.hidden} Python processes belong to another user: run this as that user or as root"
        yield failed("rank.host", reason, host.node, "/proc")
    if ranks.others:
        reason = f"{ranks.others} ranks of another job run here too, and were not looked at"
        yield failed("rank.host", reason, host.node, "/proc")
    for rank in ranks.job:
        shown = f"pid {rank.pid}, rank {rank.rank}"
        yield measured("rank.host", host.name, rank.entity, f"{rank.proc}/environ", shown)
        if rank.local is not None:
            yield measured("rank.local_rank", rank.local, rank.entity, f"{rank.proc}/environ", shown)
        yield from (Place(str(host.path(path))) for path in _written(host, rank))
        yield from (Place(str(host.path(path))) for path in _dump(host, rank))
    if ranks.job:
        yield from _commands(host, ranks.job[0])
        yield from (Place(str(host.path(path))) for path in _configs(host, ranks.job[0]))


def _commands(host: Host, rank: Rank) -> Iterator[Text]:
    """The launcher's command line, if one is the parent, else that of the rank: both say the same of the job."""
    command, pid = rank.command, rank.pid
    with suppress(OSError):
        parent = tuple(host.text(f"/proc/{rank.parent}/cmdline").rstrip("\0").split("\0"))
        if any(word in " ".join(parent[:4]) for word in LAUNCHERS):
            command, pid = parent, rank.parent
    yield Text(f"/proc/{pid}/cmdline", redact_text(shlex.join(command)) + "\n", host.name)


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
    prefix = next((rank.environ[name] for name in DUMPS if name in rank.environ), DUMP)
    path = f"{prefix}{rank.rank}"
    with suppress(OSError):
        if _regular(host, path) and os.stat(host.path(path)).st_mtime >= os.stat(host.path(rank.proc)).st_mtime:
            yield path
