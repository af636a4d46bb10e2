"""Ranks and other numbers as people write them."""

from __future__ import annotations

from collections.abc import Iterable

MOST_NAMES = 6


def ranges(numbers: Iterable[int]) -> str:
    """`0-2, 5` for 0, 1, 2, 5; of more than six ranges the first six."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    shown = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in parts]
    return ", ".join(shown[:MOST_NAMES]) + (", …" if len(shown) > MOST_NAMES else "")


def names(ranks: Iterable[int]) -> str:
    """`rank 3`, `ranks 0-2, 5`."""
    text = ranges(ranks)
    return f"rank {text}" if text.isdecimal() else f"ranks {text}"
