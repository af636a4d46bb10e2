"""Gives captured text its type."""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.facts.model import Value
from probes.files.log.segments import text_of

BINARY = {"": 1, "b": 1, "byte": 1, "bytes": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50, "e": 2**60}
DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15, "e": 10**18}
SIZE = re.compile(r"([\d.,]+(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)")
DURATION = re.compile(
    r"(?<![\d.,])([\d.,]+)\s*(d|day|h|hour|ms|millisecond|m|min|minute|s|sec|second|us|microsecond|ns)s?(?![a-z])"
)
SECONDS = {
    "d": 86400.0, "day": 86400.0, "h": 3600.0, "hour": 3600.0, "m": 60.0, "min": 60.0, "minute": 60.0,
    "s": 1.0, "sec": 1.0, "second": 1.0, "ms": 1e-3, "millisecond": 1e-3, "us": 1e-6, "microsecond": 1e-6, "ns": 1e-9,
}  # fmt: skip
CLOCK = re.compile(r"(?:(\d+) days?, )?(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?$")


def typed(groups: Mapping[str, bytes | None], kinds: Mapping[str, str]) -> dict[str, Value]:
    """The captures that took part in the match, as the types in `kinds`; one that does not convert is left out."""
    fields: dict[str, Value] = {}
    for name, raw in groups.items():
        if raw is None:
            continue
        kind = kinds.get(name, "str")
        value = _plain(raw, kind)
        if value is None:
            value = convert(text_of(raw).strip() if kind == "str" else raw.decode("ascii", "replace").strip(), kind)
        if value is not None:
            fields[name] = value
    return fields


def _plain(raw: bytes, kind: str) -> Value | None:
    """A number as Python writes it, which most are; None for anything else."""
    try:
        return int(raw) if kind == "int" else float(raw) if kind == "float" else None
    except ValueError:
        return None


def convert(text: str, kind: str) -> Value | None:
    """`text` as int, float, bytes, seconds or str; None if it is not one.

    Kind `bytes`: "2.5 GiB", "24 bytes", "954 MB" (decimal) become a number of bytes. Kind `bytes_binary` is for
    programs that write GB and mean GiB, and kinds KiB, MiB, GiB, ms and min for bare numbers in that unit. Kind
    `seconds`: a number, "16 ms", "10m 7s", "0:30:00" or "02:45" (minutes and seconds, as progress bars write it).
    """
    try:
        if kind == "int":
            return _int(text)
        if kind == "float":
            return _number(text.rstrip("%"))
        if kind in ("bytes", "bytes_binary"):
            return _bytes(text, binary=kind == "bytes_binary")
        if kind in ("KiB", "MiB", "GiB"):
            return round(_number(text) * BINARY[kind[0].lower()])
        if kind == "seconds":
            return _seconds(text)
        if kind in ("ms", "min"):
            return _number(text) * SECONDS[kind]
    except (ValueError, OverflowError):
        return None
    return text


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("_", ""))


def _int(text: str) -> int:
    plain = text.replace(",", "").replace("_", "")
    if plain[:2].lower() == "0x":
        return int(plain, 16)
    try:
        return int(plain)
    except ValueError:
        number = float(plain)
        if number != int(number):
            raise
        return int(number)


def _bytes(text: str, binary: bool) -> int | None:
    match = SIZE.fullmatch(text)
    if match is None:
        return None
    unit = match[2].lower()
    letter = unit[:1]
    if unit in ("", "b", "byte", "bytes"):
        scale = 1
    elif letter in DECIMAL and unit[1:] in ("", "b", "ib", "bytes"):
        # Linux writes kB for 1024 bytes everywhere, and a bare K, M, G is binary in df, free and ulimit.
        decimal = unit[1:] == "b" and not binary and match[2] != "kB"
        scale = DECIMAL[letter] if decimal else BINARY[letter]
    else:
        return None
    return round(_number(match[1]) * scale)


def _seconds(text: str) -> float | None:
    if clock := CLOCK.match(text):
        days, first, second, third = clock.groups()
        if third is None:
            return 60.0 * int(first) + int(second)
        return 86400.0 * int(days or 0) + 3600.0 * int(first) + 60.0 * int(second) + float(third)
    parts = DURATION.findall(text.lower())
    if parts:
        return float(sum(_number(number) * SECONDS[unit] for number, unit in parts))
    return _number(text)
