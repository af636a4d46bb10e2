"""Published bus bandwidths of collectives by GPU, ranks, hosts and payload: `tables/busbw.csv`, with their sources.

Only the same payload is compared: bandwidth grows with it, so a small message is never as fast as a large one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

_TABLE = Path(__file__).parent / "tables" / "busbw.csv"
_MAKERS = ("nvidia", "tesla", "geforce", "amd", "instinct")
_NAMES = {
    "h100 80gb hbm3": "H100-SXM5-80GB",
    "h200": "H200-SXM",
    "b200": "B200",
    "a100-sxm4-80gb": "A100-SXM4-80GB",
}
"""Names that the driver gives to the cards of the table, without the maker's."""

Key: TypeAlias = tuple[str, str, int, int, int]


@dataclass(frozen=True, slots=True)
class Published:
    """B/s on a healthy machine, and where that is written."""

    busbw: float
    source: str


def published(device: str, operation: str, ranks: int, hosts: int, payload: int) -> Published | None:
    """What is published for that card, number of ranks and payload (B); None where nothing is."""
    words = [word for word in device.lower().split() if word not in _MAKERS]
    card = _NAMES.get(" ".join(words), "")
    return _rows().get((card, operation, ranks, hosts, payload))


@cache
def _rows() -> Mapping[Key, Published]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        rows = {
            (row["gpu"], row["operation"], int(row["ranks"]), int(row["hosts"]), int(row["bytes"])): Published(
                float(row["busbw_gbs"]) * 1e9, row["source"]
            )
            for row in csv.DictReader(file)
        }
    return MappingProxyType(rows)
