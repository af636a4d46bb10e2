"""The job on this node that a watch is of: no other one is ever touched."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Iterator
from contextlib import suppress

from doctor.session.notes import Note
from probes.node.interface.host import Host
from probes.node.interface.processes import Job, Rank, Ranks, is_of, ranks_here
from probes.node.job import logs_of


class NoJobError(Exception):
    """The job is not to be seen here; `note` says why, and what to do. It stays so (`lasting`) where rights lack."""

    def __init__(self, key: str, kinds: str, lasting: bool = False, **values: str) -> None:
        super().__init__(key)
        self.note, self.lasting = Note(key, kinds, values), lasting


def job_of(host: Host, followed: Iterable[str], kinds: str) -> Job:
    """The job that `host` names by process or number, else the one that writes a file of `followed`.

    Raises NoJobError, whose note is about dumps of `kinds`, and OSError where processes cannot be listed.
    """
    ranks = ranks_here(host)
    if host.pid or host.job:
        found = next((job for job in ranks.jobs if job.ranks == ranks.job), None)
    else:
        followed = [*followed]
        files = {os.path.realpath(path) for path in followed}
        found = next((job for job in ranks.jobs if not files.isdisjoint(_written(host, job))), None)
    if found is None:
        raise why_not(host, ranks, followed, kinds)
    return found


def belongs(host: Host, rank: Rank, followed: Iterable[str]) -> bool:
    """Is a process, of no job that `job_of` knows, of the one that is watched?"""
    if host.pid or host.job:
        return is_of(host, rank)
    return not {os.path.realpath(path) for path in followed}.isdisjoint(_written(host, Job((rank,))))


def why_not(host: Host, ranks: Ranks, followed: Iterable[str], kinds: str) -> NoJobError:
    """What is told of a job that is not among `ranks`: rights lack, or it runs elsewhere."""
    me = os.geteuid()
    owners = {_owner(str(host.path(f"/proc/{host.pid}")))} if host.pid else {_owner(path) for path in followed}
    strangers = sorted(_called(owner) for owner in owners if owner not in (None, me))
    if ranks.hidden and me and strangers and len(strangers) == len(owners):
        return NoJobError("attach.other_user", kinds, lasting=True, user=strangers[0])
    if ranks.hidden and not me:
        return NoJobError("attach.hidden", kinds, lasting=True, n=str(ranks.hidden))
    if host.pid:
        return NoJobError("attach.no_rank", kinds, pid=str(host.pid))
    if host.job:
        return NoJobError("attach.no_slurm_here", kinds, job=host.job)
    return NoJobError("attach.no_job", kinds)


def _owner(path: str) -> int | None:
    with suppress(OSError):
        return os.stat(path).st_uid
    return None


def _called(user: int | None) -> str:
    with suppress(KeyError, TypeError):
        return pwd.getpwuid(user).pw_name  # type: ignore[arg-type]
    return str(user)


def _written(host: Host, job: Job) -> Iterator[str]:
    with suppress(OSError):
        yield from (os.path.realpath(host.path(path)) for path in logs_of(host, job))
