"""The counters of network ports that tell of faults (`tables/nic_counters.csv`), under one name for all tools.

Meanings are those of the Linux kernel (Documentation/ABI/stable/sysfs-class-infiniband and the mlx5 driver's
counters.rst). All of them count since the port or the host came up: only growth tells what happened in a job.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

KINDS = ("link", "upstream", "drop", "loss", "order", "receiver", "failed", "congestion", "pause", "wait")
_TABLE = Path(__file__).parent / "tables" / "nic_counters.csv"
_PRIORITY = re.compile(r"prio_?\d")
_SAME = {
    "portrcvremotephysicalerrors": "port_rcv_remote_physical_errors",
    "rcvremotephyserrors": "port_rcv_remote_physical_errors",
    "linkintegrityerrors": "local_link_integrity_errors",
    "excbufoverrunerrors": "excessive_buffer_overrun_errors",
    "linkrecovers": "link_error_recovery",
    "symbolerrors": "symbol_error",
    "rcverrors": "port_rcv_errors",
    "xmtdiscards": "port_xmit_discards",
    "xmitdiscards": "port_xmit_discards",
}
"""Names of perfquery and ibqueryerrors that are not those of sysfs with other letters."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter; `kind` groups what its growth means."""

    name: str
    kind: str
    en: str
    zh: str


@cache
def counters() -> Mapping[str, Counter]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return MappingProxyType({row["name"]: Counter(**row) for row in csv.DictReader(file)})


@cache
def _plain() -> Mapping[str, Counter]:
    return {name.replace("_", ""): counter for name, counter in counters().items()}


def counter(name: str) -> Counter | None:
    """The counter that sysfs, perfquery, rdma or ethtool calls `name`; all priorities are one."""
    plain = _PRIORITY.sub("prio", name.lower()).replace("_", "")
    plain = plain.removesuffix("counter")
    known = _plain()
    return known.get(plain) or counters().get(_SAME.get(plain, ""))
