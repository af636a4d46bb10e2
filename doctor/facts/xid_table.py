"""What the Xid codes of the NVIDIA driver mean: `tables/xid.csv`, and `tables/xid_nvlink5.csv` for codes 144 to 150.

Source of codes, actions and the NVLink 5 decoding: NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors).
Families group codes by what a rule says of them; `retired` are codes that today's drivers do not use.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

FAMILIES = (
    *("ecc", "remap", "bus", "gsp", "nvlink", "reset", "engine", "application", "cleanup", "recovery"),
    *("note", "retired"),
)
_TABLES = Path(__file__).parent / "tables"
_NVLINK5 = re.compile(
    r"(?P<unit>[A-Z][A-Z0-9_]{2,30}) {1,8}(?P<severity>Fatal|Nonfatal|Non-fatal) {1,8}"
    r"XC\d+ i\d+ Link (?P<link>-?\d{1,3}) {1,4}\((?P<info>0x[0-9A-Fa-f]{1,8})(?: (?P<status>0x[0-9A-Fa-f]{1,8}))?"
)
_SUBCODE = (20, 0x3F)
"""Position and mask of the sub-code in the first word of an NVLink 5 message, as the catalogue's patterns have it."""


@dataclass(frozen=True, slots=True)
class Xid:
    """One code. `points` says where the fault lies; `action` is NVIDIA's immediate action, empty if there is none."""

    code: int
    name: str
    family: str
    points: str
    action: str
    severity: str
    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Nvlink5:
    """An NVLink 5 message decoded; `resolution` is empty when the catalogue has no row for it."""

    unit: str
    link: int
    subcode: int
    fatal: bool
    resolution: str = ""
    investigate: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    units: tuple[str, ...]
    patterns: tuple[tuple[int, int], ...]
    status: int
    resolution: str
    investigate: str


@cache
def xids() -> Mapping[int, Xid]:
    """All codes of the catalogue."""
    found = {int(row["code"]): row for row in _rows("xid.csv")}
    return MappingProxyType(
        {
            code: Xid(code, *(row[key] for key in ("name", "family", "points", "action", "severity", "en", "zh")))
            for code, row in found.items()
        }
    )


def decode(code: int, message: str) -> Nvlink5 | None:
    """Unit, link and resolution of the message of an Xid 144 to 150; None if `message` has not their form.

    A row fits by unit, by the bits of the first word that its pattern sets, and by the error status, one bit of which
    may be set beside others. Older and newer drivers number the units differently; both are tried.
    """
    match = _NVLINK5.search(message[:2000])
    if match is None:
        return None
    info, status = int(match["info"], 16), int(match["status"] or "0", 16)
    shift, mask = _SUBCODE
    plain = Nvlink5(match["unit"], int(match["link"]), (info >> shift) & mask, match["severity"] == "Fatal")
    fitting = [row for row in _nvlink5().get(code, ()) if match["unit"] in row.units and _fits(info, row.patterns)]
    exact = [row for row in fitting if row.status == status]
    chosen = exact or [row for row in fitting if row.status & status]
    if not chosen:
        return plain
    worst = next((row for row in chosen if row.resolution == "RESET_GPU"), chosen[0])
    return Nvlink5(plain.unit, plain.link, plain.subcode, plain.fatal, worst.resolution, worst.investigate)


def _fits(info: int, patterns: tuple[tuple[int, int], ...]) -> bool:
    return any(info & mask == value for mask, value in patterns)


@cache
def _nvlink5() -> Mapping[int, tuple[_Row, ...]]:
    found: dict[int, list[_Row]] = {}
    for row in _rows("xid_nvlink5.csv"):
        patterns = (_bits(row["info"]), _bits(row["info_new"]))
        units = tuple(row["units"].split("/"))
        entry = _Row(units, patterns, int(row["status"], 16), row["resolution"], row["investigate"])
        found.setdefault(int(row["code"]), []).append(entry)
    return {code: tuple(rows) for code, rows in found.items()}


def _bits(pattern: str) -> tuple[int, int]:
    """Mask and value of a pattern of 32 characters, highest bit first; `-` stands for any bit."""
    mask = int("".join("0" if bit == "-" else "1" for bit in pattern), 2)
    return mask, int(pattern.replace("-", "0"), 2)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_TABLES / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
