"""State of services: nvidia-fabricmanager, nvidia-persistenced, nvidia-imex, openibd, firewalls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "systemctl"
MARKS = (
    "Active: ",
    "fabricmanager",
    "fabric manager",
    "could not be found",
    "firewalld",
    "ufw",
    "Status: active",
    "Status: inactive",
    "Fabric Manager",
    "openibd",
    "imex",
)

_UNIT = re.compile(r"^\s*[●○×*↻]?\s*(?P<unit>[\w@-]+)\.service\b")
_ACTIVE = re.compile(
    r"^\s*Active: (?P<state>active|inactive|failed|activating|deactivating)(?: \((?P<detail>[\w-]+)\))?"
)
_ABSENT = re.compile(
    r"Unit (?P<unit>[\w@-]+)(?:\.service)? (?:could not be found|not found)"
    r"|Failed to \w+ (?P<other>[\w@-]+)\.service: Unit .* not found"
)
_ASKED = re.compile(r"systemctl (?:--\S+ )*(?:is-active|is-enabled|status) (?P<unit>[\w@-]+)")
_INLINE = re.compile(
    r"^(?P<unit>nvidia-fabricmanager|nvidia-imex|firewalld|ufw)(?:\.service)?\s*(?::|=|->)\s*(?P<state>active"
    r"|inactive|failed|not[- ]installed|not found|disabled|running|stopped)\b"
)
_SHORT = re.compile(r"(?P<state>active|inactive|failed|activating|unknown)(?: \([\w -]{1,40}\))?")
_LISTED = re.compile(
    r"^\s*[●○×*]?\s*(?P<unit>[\w@-]+)\.service\s+(?:loaded|not-found)\s+(?P<state>active|inactive"
    r"|failed)\s+\S+"
)
_UFW = re.compile(r"^Status: (?P<state>active|inactive)\s*$")
_VERSION = (
    re.compile(r"[Ff]abric ?[Mm]anager(?: version)?(?: is)?:? v?(?P<version>\d{3}\.\d+(?:\.\d+)?)"),
    re.compile(r"nvidia-fabricmanager(?:-\d+)?[\s/=_-]+v?(?P<version>\d{3}\.\d+\.\d+)"),
    re.compile(r"^fabric manager\s.*?(?P<version>\d{3}\.\d+\.\d+)", re.IGNORECASE),
)
_MISMATCH = re.compile(
    r"fabric manager NVIDIA GPU driver interface version (?P<fm>\S+)"
    r" don't match with driver version (?P<driver>[\d.]+\d)"
)
_NAMES = {
    "nvidia-fabricmanager": "node.fabric_manager",
    "nvidia-imex": "node.imex",
    "nvidia-persistenced": "node.persistenced",
    "openibd": "node.openibd",
}
_FIREWALLS = ("firewalld", "ufw", "nftables", "iptables")


def recognise(block: Block) -> list[Block]:
    unit = any(_UNIT.match(line.text) for line in block.lines) and any(_ACTIVE.match(line.text) for line in block.lines)
    asked = _ASKED.search(block.command) or re.match(r"(?:sudo )?ufw status", block.command)
    other = any(
        _ABSENT.search(line.raw)
        or _INLINE.match(line.raw)
        or _LISTED.match(line.text)
        or _MISMATCH.search(line.raw)
        or _version(line)
        for line in block.lines
    )
    return [block] if unit or asked or other else []


def _version(line: Line) -> str:
    return next((m["version"] for pattern in _VERSION if (m := pattern.search(line.raw[:400]))), "")


def read(section: Block) -> Iterator[Fact]:
    asked = _ASKED.search(section.command)
    unit = asked["unit"].removesuffix(".service") if asked else "ufw" if "ufw status" in section.command else ""
    for line in section.lines:
        if match := _INLINE.match(line.raw):
            yield from _state(section, line, match["unit"], match["state"].replace(" ", "-"))
        elif match := _LISTED.match(line.text):
            yield from _state(section, line, match["unit"], match["state"])
        elif match := _UNIT.match(line.text):
            unit = match["unit"]
        elif match := _ACTIVE.match(line.text):
            yield from _state(section, line, unit, match["state"])
        elif match := _ABSENT.search(line.raw):
            yield from _state(section, line, match["unit"] or match["other"], "not-installed")
        elif match := _MISMATCH.search(line.raw):
            yield section.fact("node.fabric_manager_version", match["fm"], line)
            yield section.fact("node.driver_version", match["driver"], line)
        elif (match := _UFW.match(line.text)) and unit in ("", "ufw"):
            yield from _state(section, line, "ufw", match["state"])
        elif asked and (match := _SHORT.fullmatch(line.text.strip())):
            yield from _state(section, line, unit, match["state"])
        if version := _version(line):
            yield section.fact("node.fabric_manager_version", version, line)


def _state(section: Block, line: Line, unit: str, state: str) -> Iterator[Fact]:
    state = {
        "running": "active",
        "stopped": "inactive",
        "not-found": "not-installed",
        "disabled": "inactive",
        "unknown": "not-installed",
    }.get(state, state)
    if name := _NAMES.get(unit):
        yield section.fact(name, state, line)
    elif unit in _FIREWALLS:
        yield section.fact("node.firewall", f"{unit} {state}", line)
