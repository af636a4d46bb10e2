"""Variables of the job's ranks that steer communication and memory, else of this shell, and those of nccl.conf."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.facts.model import Fact
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.processes import Ranks, ranks_here
from probes.secrets import redact

SPEC = ProbeSpec(
    "environment",
    "variables of NCCL, torch, CUDA, libfabric, UCX, gloo and OpenMP in the job's ranks, else in this shell; nccl.conf",
    ("env.*",),
    privilege="the job's user or root",
)

WORTH = re.compile(
    r"(?:NCCL|NCC|NCL|TORCH|PYTORCH|CUDA|FI|OFI|UCX|GLOO|OMP|KMP|GOMP|MKL|HSA|ROCR|RCCL|MLX5|DS|OMPI_MCA)_\w+"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|MASTER_ADDR|MASTER_PORT|WORLD_SIZE|NODE_RANK|GROUP_RANK|LOCAL_WORLD_SIZE"
    r"|SLURM_(?:NNODES|JOB_NUM_NODES|NTASKS|NTASKS_PER_NODE|GPUS_ON_NODE|CPUS_PER_TASK)"
)
LONGEST = 20_000
EVERYWHERE, MOST_LINES = "/etc/nccl.conf", 1000


def probe(host: Host) -> Iterator[Fact]:
    try:
        ranks = ranks_here(host)
    except OSError as error:
        yield failed("env.ranks", why(error), host.node, "/proc")
        ranks = Ranks()
    if not ranks.job:
        for name, value in _worth(host.environ).items():
            yield from _both(host, name, value, "environment of this shell")
        yield from _configured(host, host.environ)
        return
    first = ranks.job[0]
    common = _worth(first.environ)
    for name, value in common.items():
        yield from _both(host, name, value, f"{first.proc}/environ")
    yield from _configured(host, first.environ)
    for rank in ranks.job[1:]:
        for name, value in _worth(rank.environ).items():
            if common.get(name) != value:
                path = f"{rank.proc}/environ"
                yield measured(f"env.{name}", value, rank.entity, path, f"{name}={value}")


def _configured(host: Host, environ: Mapping[str, str]) -> Iterator[Fact]:
    """What NCCL takes from its files for variables that are not set: NCCL_CONF_FILE, else the one in the home folder,
    then the one of the node (src/misc/param.cc: initEnv). The first that sets a variable counts."""
    own = environ.get("NCCL_CONF_FILE") or f"{environ.get('HOME', '')}/.nccl.conf"
    known = set(environ)
    for path in (own, EVERYWHERE):
        try:
            lines = host.text(path).splitlines()[:MOST_LINES] if path.startswith("/") else []
        except FileNotFoundError:
            continue
        except OSError as error:
            yield failed("env.nccl_conf", f"{path}: {why(error)}", host.node, path)
            continue
        for number, line in enumerate(lines, 1):
            name, sign, value = line.partition("=")
            if sign and not line.startswith("#") and name not in known and WORTH.fullmatch(name):
                known.add(name)
                shown = redact(name, value)
                for entity in ("job", host.node):
                    yield measured(f"env.{name}", shown, entity, path, f"{name}={shown}", number)


def _worth(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter, secrets replaced."""
    return {
        name: redact(name, value)
        for name, value in sorted(environ.items())
        if WORTH.fullmatch(name) and len(value) <= LONGEST
    }


def _both(host: Host, name: str, value: str, path: str) -> Iterator[Fact]:
    """For the job, which rules ask, and for the node, so that nodes can be compared."""
    for entity in ("job", host.node):
        yield measured(f"env.{name}", value, entity, path, f"{name}={value}")
