"""The routing table, `ip route` or `route -n`: subnets that are reached through more than one interface."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "ip route"
MARKS = (" dev ", "default via", "Genmask", "Kernel IP routing table")

_ROUTE = re.compile(
    r"^\s*(?P<to>default|\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?)(?: via (?P<via>\S+))? dev (?P<device>\S+)(?P<rest>.*)$"
)
_OLD = re.compile(
    r"^(?P<to>\d{1,3}(?:\.\d{1,3}){3}|default)\s+(?P<via>\S+)\s+(?P<mask>\d{1,3}(?:\.\d{1,3}){3})\s+[UGHDM!]+\s.*\s(?P<device>[a-z][\w.-]*)\s*$"
)


def recognise(block: Block) -> list[Block]:
    rows = [line for line in block.lines if _row(line)]
    return [block.part(rows)] if rows else []


def _row(line: Line) -> tuple[str, str] | None:
    """(destination, interface). A line of `ip route get` names one address and a uid; it is no table."""
    if match := _ROUTE.match(line.text):
        if (
            " uid " in match["rest"]
            or "dead" in match["rest"]
            or (match["to"].count(".") == 3 and "/" not in match["to"])
        ):
            return None
        return match["to"], match["device"]
    if match := _OLD.match(line.text):
        if match["to"] in ("default", "0.0.0.0"):
            return "default", match["device"]
        return str(ip_network(f"{match['to']}/{match['mask']}", strict=False)), match["device"]
    return None


def read(section: Block) -> Iterator[Fact]:
    by_destination: dict[str, list[tuple[str, Line]]] = {}
    for line in section.lines:
        if row := _row(line):
            by_destination.setdefault(row[0], []).append((row[1], line))
    double: list[tuple[str, Line]] = []
    for destination, ways in by_destination.items():
        devices = tuple(dict.fromkeys(device for device, _ in ways))
        if destination == "default":
            yield section.fact("node.default_interface", devices[0], ways[0][1])
        elif len(devices) > 1:
            # The first is the one the kernel uses for every packet to that subnet, whatever the source address.
            double.append((f"{destination}: {' '.join(devices)}", ways[1][1]))
    line = double[0][1] if double else next(iter(by_destination.values()))[0][1]
    yield section.fact("node.routes_duplicate", tuple(text for text, _ in double), line)
