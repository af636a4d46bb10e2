"""The GID table of RoCE ports as `show_gids` prints it: which index holds a RoCE v2 address that can be routed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "show_gids"
MARKS = ("n_gids_found", "\tGID\t", "GID ", "v2", "RoCE v2", ":0000:ffff:", "fe80:")

_ROW = re.compile(
    r"^\s*(?P<device>[A-Za-z]\w+)\s+(?P<port>\d{1,3})\s+(?P<index>\d{1,3})\s+(?P<gid>(?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4})"
    r"(?:\s+(?P<ip>\d{1,3}(?:\.\d{1,3}){3}))?\s+(?:RoCE\s?)?(?P<version>v1|v2)(?:\s+(?P<netdev>\S+))?\s*$",
    re.IGNORECASE,
)


def recognise(block: Block) -> list[Block]:
    rows = [line for line in block.lines if _ROW.match(line.text)]
    return [block.part(rows)] if rows else []


def read(section: Block) -> Iterator[Fact]:
    by_nic: dict[str, list[tuple[re.Match[str], Line]]] = {}
    for line in section.lines:
        if match := _ROW.match(line.text):
            name = match["device"] if match["port"] == "1" else f"{match['device']}:{match['port']}"
            by_nic.setdefault(name, []).append((match, line))
    for name, rows in by_nic.items():
        nic = section.nic(name)
        entries = tuple(f"{m['index']} {m['version'].lower()} {m['ip'] or _kind(m['gid'])}" for m, _ in rows)
        yield section.fact("nic.gids", entries, rows[0][1], nic)
        routable = [
            (m, line) for m, line in rows if m["version"].lower() == "v2" and (m["ip"] or _kind(m["gid"]) == "ipv4")
        ]
        if routable:
            match, line = routable[0]
            yield section.fact("nic.gid_roce_v2_index", int(match["index"]), line, nic)
        if netdev := next(((m["netdev"], line) for m, line in rows if m["netdev"]), None):
            yield section.fact("nic.netdev", netdev[0], netdev[1], nic)


def _kind(gid: str) -> str:
    """fe80:: is link-local and does not cross a router; ::ffff:a.b.c.d stands for an IPv4 address."""
    low = gid.lower()
    if low.startswith("fe80:"):
        return "link-local"
    return "ipv4" if low.startswith("0000:0000:0000:0000:0000:ffff:") else "ipv6"
