"""Finds the smallest set of ranks among which an operation hangs: by halves, and by halves of halves put together anew.

Two sets without a common rank are tried at once. A set that hangs is cut further; where no part hangs by itself, the
operation fails only when certain ranks meet, or only at that many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Ranks: TypeAlias = tuple[int, ...]
Halving: TypeAlias = Generator[list[Ranks], Collection[Ranks], "Narrowed"]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """`ranks` hang together; `passed` are the largest sets of them, or around them, that do not. `tries`: rounds."""

    ranks: Ranks
    passed: tuple[Ranks, ...]
    tries: int


def halve(ranks: Sequence[int]) -> Halving:
    """Yields sets to try at once, is sent those that hang, and returns what remains. At most 3 rounds a halving."""
    hanging = tuple(ranks)
    passed: list[Ranks] = []
    tries = 0
    while len(hanging) > 2:
        for sets in _cuts(hanging):
            tries += 1
            bad = yield sets
            passed += [one for one in sets if one not in bad]
            if bad:
                hanging = min(bad)
                break
        else:
            break
    near = [one for one in passed if set(one) & set(hanging) and not set(hanging) <= set(one)]
    return Narrowed(hanging, tuple(sorted(near, key=lambda one: -len(one))[:2]), tries)


def _cuts(ranks: Ranks) -> list[list[Ranks]]:
    """The two halves, then their quarters across; of three ranks every pair, since two of them meet nowhere else."""
    if len(ranks) == 3:
        return [[ranks[:2]], [ranks[::2]], [ranks[1:]]]
    half = len(ranks) // 2
    one, other = ranks[:half], ranks[half:]
    a, b = one[: (half + 1) // 2], one[(half + 1) // 2 :]
    c, d = other[: (len(other) + 1) // 2], other[(len(other) + 1) // 2 :]
    return [[one, other], [a + c, b + d], [a + d, b + c]]


def narrowed(ranks: Sequence[int], hang: Callable[[list[Ranks]], Collection[Ranks]]) -> Narrowed:
    """Runs a halving to its end; `hang` tries sets and gives back those that hang."""
    steps = halve(ranks)
    try:
        sets = next(steps)
        while True:
            sets = steps.send(hang(sets))
    except StopIteration as end:
        found: Narrowed = end.value
        return found
