"""The job on this node that a watch is of: no other one is ever touched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from probes.node.interface.host import Host
from probes.node.interface.processes import Job, ranks_here
from probes.node.job import logs_of


def job_of(host: Host, followed: Iterable[str]) -> Job | None:
    """The job that `host` names by process or number, else the one that writes a file of `followed`; OSError where
    processes cannot be listed."""
    ranks = ranks_here(host)
    if host.pid or host.job:
        return next((job for job in ranks.jobs if job.ranks == ranks.job), None)
    files = {os.path.realpath(path) for path in followed}
    return next((job for job in ranks.jobs if not files.isdisjoint(_written(host, job))), None)


def _written(host: Host, job: Job) -> Iterator[str]:
    with suppress(OSError):
        yield from (os.path.realpath(host.path(path)) for path in logs_of(host, job))
