"""Which rank wrote a file, and which files belong to one moment."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePath

from probes.files.flight_recorder.model import Dump

_NAMED = re.compile(r"rank[_.-]?(\d{1,7})", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,7}")
_ENDINGS = (".gz", ".zst", ".json", ".pickle", ".pkl", ".bin", ".txt", ".dump", ".out")
UNKNOWN = -1


def rank_in_name(path: str) -> int:
    """The rank in a file's name: after the word rank, else its last number; -1 when there is none."""
    name = PurePath(path).name
    while (lower := name.lower()).endswith(_ENDINGS):
        name = name[: lower.rindex(".")]
    named = _NAMED.findall(name)
    numbers = named or [number for number in _NUMBER.findall(name) if name.endswith(number)]
    return int(numbers[-1]) if numbers else UNKNOWN


def rank_of(dump: Dump) -> int:
    """The rank by name and content. A rank is in every group it uses: what is in all of them may be one rank alone."""
    possible: set[int] | None = None
    for group in dump.groups:
        possible = set(group.ranks) if possible is None else possible & set(group.ranks)
    if possible and (dump.rank == UNKNOWN or dump.rank not in possible):
        return next(iter(possible)) if len(possible) == 1 else dump.rank
    return dump.rank


def family(path: str) -> str:
    """What the names of one moment's files have in common: the folder and the name without its numbers."""
    place = PurePath(path)
    return f"{place.parent}/{_NUMBER.sub('#', place.name)}"


def moments(dumps: Sequence[Dump]) -> list[dict[int, Dump]]:
    """The dumps by moment, the last one first. One rank's dumps in one moment are the same thing twice; then that with
    stacks is kept. Folders that hold no rank twice, as one folder a node, are one moment."""
    families: dict[str, list[Dump]] = defaultdict(list)
    for dump in dumps:
        families[family(dump.path)].append(dump)
    found: list[dict[int, Dump]] = []
    for name in sorted(families, key=lambda name: (-len(families[name]), name)):
        members = families[name]
        place = next((m for m in found if not any(d.rank in m for d in members)), None)
        if place is None:
            found.append({})
            place = found[-1]
        for dump in members:
            if dump.rank not in place or _better(dump, place[dump.rank]):
                place[dump.rank] = dump
    return sorted(found, key=lambda m: (max(d.newest for d in m.values()), _stacks(m), len(m)), reverse=True)


def _better(one: Dump, two: Dump) -> bool:
    return (one.newest, bool(one.frame)) > (two.newest, bool(two.frame))


def _stacks(moment: dict[int, Dump]) -> int:
    return sum(bool(dump.frame) for dump in moment.values())
