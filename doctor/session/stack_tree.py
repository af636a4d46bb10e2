"""Where the ranks stand, as one tree: what their main threads have in common, then where they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from doctor.facts.store import FactStore

NAME = "stack.frames"


@dataclass(frozen=True, slots=True)
class Branch:
    """Ranks and the frames that they share from here on, the outermost first; then the branches in which they part.

    The branch with most ranks comes first. Ranks that are in no branch of it stand in the last of its frames.
    """

    ranks: tuple[int, ...]
    frames: tuple[str, ...]
    branches: tuple[Branch, ...] = ()


def stacks_of(store: FactStore) -> tuple[Branch, ...]:
    """The tree of the stacks that were taken, empty where there are none."""
    known: dict[int, tuple[str, ...]] = {}
    for fact in store.every(NAME):
        number = fact.entity.removeprefix("rank:")
        if number.isdecimal() and isinstance(fact.value, tuple):
            known[int(number)] = tuple(map(str, fact.value))
    return _parted(known)


def _parted(stacks: Mapping[int, Sequence[str]]) -> tuple[Branch, ...]:
    groups: dict[str, dict[int, Sequence[str]]] = {}
    for rank, frames in sorted(stacks.items()):
        if frames:
            groups.setdefault(frames[0], {})[rank] = frames
    return tuple(_branch(group) for group in sorted(groups.values(), key=lambda group: (-len(group), min(group))))


def _branch(group: Mapping[int, Sequence[str]]) -> Branch:
    first = next(iter(group.values()))
    shared = 0
    while shared < len(first) and all(f[shared : shared + 1] == first[shared : shared + 1] for f in group.values()):
        shared += 1
    rest = {rank: frames[shared:] for rank, frames in group.items()}
    return Branch(tuple(group), tuple(first[:shared]), _parted(rest))
