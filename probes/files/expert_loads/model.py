"""Tokens of experts by step and layer, as they are gathered from files of any form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite

NAMED = re.compile(
    r"tokens?_?(?:per|by|of)_?(?:local_?|ep_?)?experts?|experts?_?(?:loads?|counts?|tokens?|usage|hist\w*|assignments?)"
    r"|(?:router|moe|routing|gate)\w*_?(?:loads?|counts?|tokens?)|^(?:loads?|counts?|tokens?)$",
    re.IGNORECASE,
)
"""What counts of tokens are called: Megatron's and torchtitan's buffers, MegaBlocks' and people's own."""

NOT_COUNTS = re.compile(r"bias|loss|prob|logit|capacity|time|grad|weight|coef", re.IGNORECASE)
_LAYER = re.compile(r"(?:layers?|blocks?|h)[._/ -]?(\d{1,4})(?!\d)", re.IGNORECASE)
_STEP = re.compile(r"(?:global_?step|steps?|iter(?:ation)?s?)[._=-]?(\d{1,9})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,4})(?!.*\d)")

FEWEST, MOST_EXPERTS = 2, 4096
MOST_VALUES = 100_000_000
BEYOND = 1e15
"""More tokens than any run has: such a number is damage."""
EQUAL_SUMS = 0.01
"""Every layer routes the same tokens to as many experts each, so their sums are alike; other matrices' are not."""


class LoadError(Exception):
    """A file cannot be read as expert loads; the text says why in one line."""


@dataclass(slots=True)
class Loads:
    """`rows` maps (step, layer) to the tokens of each expert; `of_rank` is what a rank's experts got in all.

    A step of -1 stands for the whole run, or for `step` where the name of the file gives one.
    """

    rows: dict[tuple[int, str], list[float]] = field(default_factory=dict)
    of_rank: dict[int, float] = field(default_factory=dict)
    odd: int = 0
    values: int = 0
    step: int = -1

    def add(self, step: int, layer: str, tokens: Iterable[float]) -> None:
        """Adds the tokens of one layer in one step to what is known of it; odd ones are left out and counted."""
        try:
            given = [float(value) for value in tokens]
        except OverflowError:
            given = []
        if not FEWEST <= len(given) <= MOST_EXPERTS or not all(0 <= v < BEYOND for v in given):
            self.odd += 1
            return
        self.values += len(given)
        if self.values > MOST_VALUES:
            raise LoadError(f"holds more than {MOST_VALUES:,} numbers")
        known = self.rows.setdefault((step if step >= 0 else self.step, layer), given)
        if known is not given:
            known += [0.0] * (len(given) - len(known))
            for place, value in enumerate(given):
                known[place] += value

    def add_one(self, step: int, layer: str, expert: int, tokens: float, rank: int = -1) -> None:
        """Adds the tokens of one expert."""
        if not (0 <= expert < MOST_EXPERTS and 0 <= tokens < BEYOND):
            self.odd += 1
            return
        self.values += 1
        if self.values > MOST_VALUES:
            raise LoadError(f"holds more than {MOST_VALUES:,} numbers")
        known = self.rows.setdefault((step if step >= 0 else self.step, layer), [])
        known += [0.0] * (expert + 1 - len(known))
        known[expert] += tokens
        if rank >= 0:
            self.of_rank[rank] = self.of_rank.get(rank, 0.0) + tokens


def steps_of(names: Sequence[str]) -> list[int]:
    """The step that each file is named by, where they are named by several; else -1."""
    found = [_STEP.findall(name.replace("\\", "/").rpartition("/")[2]) for name in names]
    steps = [int(numbers[-1]) if numbers else -1 for numbers in found]
    return steps if len({step for step in steps if step >= 0}) > 1 else [-1] * len(names)


def layer_of(name: str) -> str:
    """The layer that a key or a file names, as a number where it has one."""
    found = _LAYER.search(name) or _NUMBER.search(name)
    return str(int(found[1])) if found else name[-60:]


def is_name(name: str) -> bool:
    """Is this what counts of tokens are called?"""
    last = re.split(r"[./]", name)[-1]
    last = _STEP.sub("", last).strip("_- ") or last
    return bool(NAMED.search(last)) and not NOT_COUNTS.search(last)


def looks_like_loads(rows: Sequence[Sequence[float]]) -> bool:
    """Whole numbers, none negative, and rows whose sums are alike: counts of the same tokens over experts."""
    sums = [sum(row) for row in rows]
    if len(rows) < 2 or min(sums) <= 0 or any(v < 0 or v != int(v) for row in rows for v in row if isfinite(v)):
        return False
    varied = len({value for row in rows for value in row}) > 2
    return varied and max(sums) - min(sums) <= EQUAL_SUMS * max(sums)
