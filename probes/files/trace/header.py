"""What stands around the events of a trace: which rank, on which devices, in which process groups."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

RANK = re.compile(rb'"rank"\s*:\s*(\d{1,9})')
WORLD = re.compile(rb'"world_size"\s*:\s*(\d{1,9})')
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})')
IN_NAME = re.compile(r"(?:^|[^a-z])(?:rank|worker|workers)[-_ ]?(\d{1,6})(?!\d)", re.IGNORECASE)
MOST_GROUPS = 4096


@dataclass(frozen=True, slots=True)
class Device:
    """One entry of deviceProperties."""

    index: int
    name: str
    memory: int
    processors: int


@dataclass(frozen=True, slots=True)
class Group:
    """A process group that the job made: its name, what it was made for, its ranks in order."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """`base` is what times count from, in ns since the epoch; 0 where they count from the epoch itself."""

    rank: int | None = None
    world_size: int | None = None
    backend: str = ""
    host: str = ""
    base: int = 0
    devices: tuple[Device, ...] = ()
    groups: tuple[Group, ...] = field(default=())


def header_of(head: dict[str, Any]) -> Header:
    """The header in the JSON object around the events, whatever is missing from it."""
    given = head.get("distributedInfo")
    info: dict[str, Any] = given if isinstance(given, dict) else {}
    return Header(
        rank=_count(info.get("rank")),
        world_size=_count(info.get("world_size")),
        backend=str(info.get("backend") or ""),
        host=str(head.get("host_name") or "")[:255],
        base=_count(head.get("baseTimeNanoseconds")) or 0,
        devices=tuple(_devices(head.get("deviceProperties"))),
        groups=tuple(_groups(info.get("pg_config"))),
    )


def rank_in_name(name: str) -> int | None:
    """The rank that the name of a file states, as `rank-3.json` or `worker3.pt.trace.json` do."""
    found = IN_NAME.findall(name.replace("\\", "/").rsplit("/", 1)[-1])
    return int(found[-1]) if found else None


def ranks_of(value: Any) -> tuple[int, ...]:
    """Ranks of a group: a list, or a list in a string as kineto's on-demand traces have it."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return ()
    return tuple(rank for rank in value if isinstance(rank, int)) if isinstance(value, list) else ()


def salvage(head: bytes, tail: bytes) -> dict[str, Any]:
    """The header of a damaged file, as far as single words of it can be read."""
    found: dict[str, Any] = {}
    info: dict[str, Any] = {}
    for text in (head, tail):
        for key, pattern in (("rank", RANK), ("world_size", WORLD)):
            if (match := pattern.search(text)) is not None:
                info.setdefault(key, int(match[1]))
        if (match := BASE.search(text)) is not None:
            found["baseTimeNanoseconds"] = int(match[1])
    return {**found, "distributedInfo": info} if info else found


def _devices(given: Any) -> list[Device]:
    found = []
    for entry in given if isinstance(given, list) else []:
        if isinstance(entry, dict) and (index := _count(entry.get("id"))) is not None:
            memory, processors = _count(entry.get("totalGlobalMem")) or 0, _count(entry.get("numSms")) or 0
            found.append(Device(index, str(entry.get("name") or ""), memory, processors))
    return found


def _groups(given: Any) -> list[Group]:
    found = []
    for entry in (given if isinstance(given, list) else [])[:MOST_GROUPS]:
        if isinstance(entry, dict):
            name = str(entry.get("pg_name", entry.get("uid", "")))
            found.append(Group(name, str(entry.get("pg_desc") or ""), ranks_of(entry.get("ranks"))))
    return found


def _count(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < 1 << 63 else None
