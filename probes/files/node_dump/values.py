"""Numbers as commands print them, in base units."""

from __future__ import annotations

import re

UNLIMITED = 2**64 - 1
"""What `unlimited` becomes: RLIM_INFINITY of Linux."""

_SIZE = re.compile(r"^\s*(?P<number>\d+(?:[.,]\d+)?)\s*(?P<unit>[KMGTPE]?)(?P<kind>i?B?|bytes?)\s*$", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_MISSING = {
    "n/a",
    "[n/a]",
    "[not supported]",
    "unknown",
    "[unknown error]",
    "err!",
    "-",
    "",
    "requested functionality has been deprecated",
}
_NET_RATE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGT])?(?:b(?:it)?(?:/s(?:ec)?|ps)?)", re.IGNORECASE)


def size(text: str, default_unit: str = "") -> int | None:
    """Bytes of `64M`, `31842MiB`, `1031914 MB`: nvidia-smi, df, free, numactl and docker count in powers of 1024."""
    match = _SIZE.match(text)
    if not match:
        return None
    unit = match["unit"].upper() or (default_unit if not match["kind"] else "")
    return int(float(match["number"].replace(",", ".")) * 1024 ** _POWERS[unit])


def limit(text: str, scale: int = 1) -> int | None:
    """A resource limit: `unlimited`, `-1` and `infinity` become UNLIMITED."""
    word = text.strip().lower()
    if word in ("unlimited", "infinity", "-1"):
        return UNLIMITED
    return min(int(word) * scale, UNLIMITED) if word.isdigit() and len(word) <= 20 else None


def number(text: str) -> float | None:
    """The first number of `352W`, `94 %` or `61C`; None for `N/A` and its like."""
    if missing(text):
        return None
    match = _NUMBER.search(text[:200])
    return float(match[0]) if match else None


def integer(text: str) -> int | None:
    found = number(text)
    return None if found is None or abs(found) > 2**63 else int(found)


def missing(text: str) -> bool:
    return text.strip().lower() in _MISSING


def bit_rate(text: str) -> float | None:
    """Bytes a second of a network rate: `400 Gb/sec (4X NDR)`, `25000Mb/s`, `100Gbps`."""
    match = _NET_RATE.search(text[:200])
    if not match:
        return None
    scale = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[(match["unit"] or "").upper()]
    return float(match["number"]) * scale / 8


def cpu_list(text: str) -> tuple[int, ...]:
    """CPU numbers of `0-3,8` or `0 1 2 3`; at most 4096 of them, none when it is not such a list."""
    found: list[int] = []
    for part in re.split(r"[,\s]+", text.strip()[:20000]):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if not match:
            return ()
        first, last = int(match[1]), int(match[2] or match[1])
        found += range(first, min(last, first + 4095) + 1)
        if len(found) > 4096:
            return tuple(found[:4096])
    return tuple(dict.fromkeys(found))
