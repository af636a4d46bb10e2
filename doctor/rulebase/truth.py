"""Three-valued truth (Kleene's strong logic): what was not looked at is unknown, never false."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NoReturn


class Truth(Enum):
    """TRUE, FALSE or UNKNOWN. It has no truth value of its own in Python, so nobody writes `if truth`."""

    FALSE = 0
    UNKNOWN = 1
    TRUE = 2

    def __bool__(self) -> NoReturn:
        raise TypeError("a Truth has three values: compare it with `is Truth.TRUE`")

    @staticmethod
    def of(value: bool | None) -> Truth:
        """TRUE or FALSE for a known value, UNKNOWN for None."""
        return Truth.UNKNOWN if value is None else Truth.TRUE if value else Truth.FALSE


def conjunction(truths: Iterable[Truth]) -> Truth:
    """TRUE when all are, FALSE when one is, else UNKNOWN; of nothing it is TRUE."""
    return Truth(min((t.value for t in truths), default=Truth.TRUE.value))


def disjunction(truths: Iterable[Truth]) -> Truth:
    """TRUE when one is, FALSE when all are, else UNKNOWN; of nothing it is FALSE."""
    return Truth(max((t.value for t in truths), default=Truth.FALSE.value))


def negation(truth: Truth) -> Truth:
    return Truth(Truth.TRUE.value - truth.value)
