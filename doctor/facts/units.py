"""Units: every value is kept in its base unit; expressions are checked for matching dimensions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

Dimension: TypeAlias = tuple[tuple[str, int], ...]
"""Sorted base units with their exponents; the empty tuple is a plain number."""

PLAIN: Dimension = ()
BASE_UNITS = ("B", "s", "W", "C", "Hz", "FLOP", "token")

_BINARY = {f"{prefix}iB": (1024.0**power, "B") for power, prefix in enumerate("KMGTP", 1)}
_DECIMAL = {f"{prefix}B": (1000.0**power, "B") for power, prefix in enumerate("KMGTP", 1)}
_TIME = {"us": (1e-6, "s"), "ms": (1e-3, "s"), "second": (1.0, "s"), "minute": (60.0, "s"), "hour": (3600.0, "s")}
_OTHER = {"Watt": (1.0, "W"), "Celsius": (1.0, "C"), "MHz": (1e6, "Hz"), "GHz": (1e9, "Hz"), "TFLOP": (1e12, "FLOP")}

CONSTANTS: Mapping[str, tuple[float, str]] = {**_BINARY, **_DECIMAL, **_TIME, **_OTHER}
"""Unit names that an expression may multiply with: `20*GiB`, `2*minute`."""

_SIZE = re.compile(r"^\s*([\d.,]+)\s*(bytes?|[KMGTP]?i?B|[KMGTP])?\s*$", re.IGNORECASE)


def dimension(unit: str) -> Dimension:
    """The dimension of a catalogue unit such as `B/s`; raises ValueError for one that is not known."""
    exponents: dict[str, int] = {}
    for sign, part in _split(unit):
        if part == "1":
            continue
        if part not in BASE_UNITS:
            raise ValueError(f"unknown unit {part!r}; known are 1, {', '.join(BASE_UNITS)} and quotients of these")
        exponents[part] = exponents.get(part, 0) + sign
    return canonical(exponents)


def canonical(exponents: Mapping[str, int]) -> Dimension:
    return tuple(sorted((unit, power) for unit, power in exponents.items() if power))


def combine(left: Dimension, right: Dimension, sign: int) -> Dimension:
    """The dimension of a product (`sign` 1) or a quotient (`sign` -1)."""
    exponents = dict(left)
    for unit, power in right:
        exponents[unit] = exponents.get(unit, 0) + sign * power
    return canonical(exponents)


def name_of(dim: Dimension) -> str:
    """How a dimension is written in messages."""
    above = [unit if power == 1 else f"{unit}^{power}" for unit, power in dim if power > 0]
    below = [unit if power == -1 else f"{unit}^{-power}" for unit, power in dim if power < 0]
    return ("*".join(above) or "1") + "".join(f"/{unit}" for unit in below)


def parse_size(text: str) -> float | None:
    """Bytes from a size such as `2.50 GiB`, `954MB` or `24 bytes`; None when it is not a size.

    The "i" marks powers of 1024; without it KB, MB, GB are powers of 1000.
    """
    found = _SIZE.match(text)
    if not found:
        return None
    number, unit = found[1].replace(",", ""), found[2] or "B"
    try:
        value = float(number)
    except ValueError:
        return None
    if unit.lower().startswith("byte") or unit.upper() == "B":
        return value
    name = unit[0].upper() + ("iB" if "i" in unit.lower() else "B")
    return value * CONSTANTS[name][0]


def _split(unit: str) -> list[tuple[int, str]]:
    above, *below = unit.strip().split("/")
    parts = [(1, part.strip()) for part in above.split("*")]
    return parts + [(-1, part.strip()) for part in below]
