"""Reads rank, local rank, host and restart attempt from the path of a log."""

from __future__ import annotations

import re
from dataclasses import dataclass

from probes.files.runs import PACKED, folders

RANK = re.compile(r"(?<![a-z])(?:global[_-]?)?rank[_-]?(\d+)(?!\d)", re.IGNORECASE)
LOCAL = re.compile(r"(?<![a-z])(?:local[_-]?rank|gpu|device)[_-]?(\d+)(?!\d)", re.IGNORECASE)
TASK = re.compile(r"(?<![a-z])(?:task|proc|process|worker_rank)[_-]?(\d+)(?!\d)", re.IGNORECASE)
HOST = re.compile(
    r"(?<![A-Za-z])(?:node|host|worker|master|server|machine|pod|launcher|slave)[-_]?[a-z]?\d+(?:\.[\w-]+)*",
    re.IGNORECASE,
)
POD = re.compile(r"[a-z0-9][a-z0-9-]*-(?:worker|master|launcher|ps|replica)-\d+", re.IGNORECASE)
TORCHRUN = re.compile(r"attempt_(\d+)/(\d+)/(?:stdout|stderr|error)(?:\.\w+)*$")


@dataclass(frozen=True, slots=True)
class Place:
    """What the path says; `local_only` if the rank is only known within its node."""

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    attempt: int | None = None


def place(name: str) -> Place:
    """The place of the log called `name`; the file's own name counts before its folders'."""
    name = folders(name)
    if match := TORCHRUN.search(name):
        return Place(None, _small(match[2]), _host(name[: match.start()]), _small(match[1]))
    parts = [_bare(part) for part in reversed(name.split("/"))][:4]
    local = _search(LOCAL, parts)
    without_local = [LOCAL.sub("", part) for part in parts]
    rank = _search(RANK, without_local)
    if rank is None:
        rank = _search(TASK, without_local[:1])
    return Place(rank, local, _host("/".join(reversed(parts))), None)


def _bare(part: str) -> str:
    while PACKED.search(part):
        part = PACKED.sub("", part)
    return part


def _host(path: str) -> str | None:
    for part in reversed(path.split("/")):
        if match := POD.search(part) or HOST.search(part):
            return match[0]
    return None


def _search(pattern: re.Pattern[str], parts: list[str]) -> int | None:
    for part in parts:
        if match := pattern.search(part):
            return _small(match[1])
    return None


def _small(digits: str) -> int | None:
    return int(digits) if len(digits) < 8 else None
