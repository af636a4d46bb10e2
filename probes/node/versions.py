"""Versions in the job's interpreter: Python, packages, CUDA of torch."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from doctor.facts.model import Fact
from probes.files.node_dump.readers.pip_list import canonical
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.processes import Ranks, ranks_here

SPEC = ProbeSpec(
    "versions",
    "packages of the job's interpreter (of a rank, --python, else the active environment)",
    ("pip.*", "node.python", "node.cuda_build"),
    seconds=2.8,
    privilege="the job's user or root",
)

WORKER = Path(__file__).parent / "workers" / "packages.py"
SECONDS = 2.5
NCCL_WHEEL = re.compile(r"nvidia_nccl(?:_cu\d+)?")
VERSION = re.compile(r"\d[\w.+!-]{0,60}")


def probe(host: Host) -> Iterator[Fact]:
    try:
        ranks = ranks_here(host)
    except OSError:
        ranks = Ranks()
    yield from _packages(host, interpreter(host, ranks))


def interpreter(host: Host, ranks: Ranks) -> str:
    """The one that was named, else that of a rank, else that of the active environment, else the first on the path."""
    if host.python:
        return host.python
    for rank in ranks.job[:1]:
        try:
            # the command tells of a virtual environment, the file behind the process does not
            name = rank.command[0]
            path = name if name.startswith("/") else os.readlink(host.path(f"{rank.proc}/exe"))
            return str(host.path(path))
        except OSError:
            continue
    active = host.environ.get("VIRTUAL_ENV") or host.environ.get("CONDA_PREFIX")
    return f"{active}/bin/python" if active else "python3"


def _packages(host: Host, python: str) -> Iterator[Fact]:
    try:
        ran = host.run([python, str(WORKER)], SECONDS)
        if ran.status:
            raise OSError(0, (ran.error.strip().splitlines() or [f"ended with {ran.status}"])[-1][:200])
        told = json.loads(ran.out)
        versions = {canonical(str(name)): str(version) for name, version in told["packages"].items()}
        yield measured("node.python", str(told["python"]), host.node, str(told["executable"]))
    except TimeoutError as error:
        yield failed("node.python", str(error), host.node, python)
        return
    except OSError as error:
        yield failed("node.python", f"{python}: {why(error)}", host.node, python)
        return
    except (ValueError, LookupError, TypeError, AttributeError):
        yield failed("node.python", f"{python} printed something else than its packages", host.node, python)
        return
    place = str(told["executable"])
    if isinstance(told.get("cuda"), str):
        yield measured("node.cuda_build", told["cuda"], host.node, place, f"torch is built with CUDA {told['cuda']}")
    for name, version in versions.items():
        if VERSION.fullmatch(version):
            yield measured(f"pip.{name}", version, "job", place, f"{name}=={version}")
    wheels = tuple(f"{name}=={version}" for name, version in versions.items() if NCCL_WHEEL.fullmatch(name))
    if wheels:
        yield measured("pip.nccl_wheels", wheels, "job", place, " ".join(wheels))
