"""Network interfaces and their addresses: `ip addr`, `ip -br addr`, `ip link`, and ifconfig old and new."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_network

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "ip addr"
MARKS = (
    " mtu ",
    "inet ",
    "inet addr:",
    "Link encap:",
    " UP ",
    " UNKNOWN ",
    " DOWN ",
    "does not exist",
    "error fetching interface",
)

_IP = re.compile(
    r"^\s*\d+: (?P<name>[\w.@:-]+?)(?:@\S+)?: <(?P<flags>[A-Z_,-]*)>(?:.*?\bmtu (?P<mtu>\d+))"
    r"?(?:.*?\bstate (?P<state>[A-Z]+))?"
)
_BRIEF = re.compile(
    r"^(?P<name>[a-z][\w.-]*?)(?:@\S+)?\s+(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)(?:\s+(?P<rest>[\w<].*|))?\s*$"
)
_IFCONFIG = re.compile(r"^(?P<name>[a-z][\w.:-]*?): flags=\d+<(?P<flags>[A-Z,_]*)>\s+mtu (?P<mtu>\d+)")
_OLD = re.compile(r"^(?P<name>[a-z][\w.:-]*)\s+Link encap:(?P<kind>\S+)")
_INET = re.compile(
    r"^\s+inet (?:addr:)?(?P<address>\d{1,3}(?:\.\d{1,3}){3})(?:/(?P<bits>\d{1,2}))?(?:.*?(?:netmask "
    r"|Mask:)(?P<mask>\S+))?"
)
_OLD_FLAGS = re.compile(
    r"^\s+(?P<flags>(?:UP |BROADCAST |RUNNING |LOOPBACK |MULTICAST |NOARP |POINTOPOINT )+)\s*MTU:(?P<mtu>\d+)"
)
_NOT_FOUND = re.compile(
    r'^(?:Device "(?P<a>[\w.-]+)" does not exist|(?P<b>[\w.-]+): error fetching interface information)'
)


@dataclass(slots=True)
class _Interface:
    name: str
    line: Line
    state: str = ""
    mtu: int = 0
    addresses: list[tuple[str, Line]] = field(default_factory=list)


def recognise(block: Block) -> list[Block]:
    starts = [line for line in block.lines if _start(line) is not None]
    sure = [line for line in starts if not _BRIEF.match(line.text)]
    brief = [line for line in starts if _BRIEF.match(line.text)]
    if sure or (brief and ("ip" in block.command.split() or any(_brief_sure(line) for line in brief))):
        return [block]
    return [block] if any(_NOT_FOUND.match(line.text) for line in block.lines) else []


def _brief_sure(line: Line) -> bool:
    match = _BRIEF.match(line.text)
    return bool(match and match["rest"] and re.search(r"\d{1,3}(?:\.\d{1,3}){3}/\d|<[A-Z_,]+>", match["rest"]))


def _start(line: Line) -> _Interface | None:
    text = line.text
    if match := _IP.match(text):
        state = (
            match["state"]
            if match["state"] not in (None, "UNKNOWN")
            else ("UP" if "UP" in match["flags"].split(",") else "DOWN")
        )
        return _Interface(match["name"], line, state, int((match["mtu"] or "0")[:9]))
    if match := _IFCONFIG.match(text):
        return _Interface(match["name"], line, _running(match["flags"].split(",")), int(match["mtu"][:9]))
    if match := _OLD.match(text):
        return _Interface(match["name"], line)
    if match := _BRIEF.match(text):
        found = _Interface(match["name"], line, "UP" if match["state"] == "UNKNOWN" else match["state"])
        found.addresses = [(a, line) for a in re.findall(r"\b\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}\b", match["rest"] or "")]
        return found
    return None


def _running(flags: list[str]) -> str:
    return "UP" if "UP" in flags and ("RUNNING" in flags or "LOOPBACK" in flags) else "DOWN"


def read(section: Block) -> Iterator[Fact]:
    found: list[_Interface] = []
    absent: list[tuple[str, Line]] = []
    for line in section.lines:
        if start := _start(line):
            found.append(start)
        elif found and (match := _INET.match(line.text)):
            found[-1].addresses.append((_with_prefix(match), line))
        elif found and (match := _OLD_FLAGS.match(line.text)):
            found[-1].state = _running(match["flags"].split())
            found[-1].mtu = int(match["mtu"][:9])
        elif match := _NOT_FOUND.match(line.text):
            absent.append((match["a"] or match["b"], line))
    for interface in found:
        nic = section.nic(interface.name)
        if interface.state:
            yield section.fact("nic.state", interface.state, interface.line, nic)
        if interface.mtu and interface.name != "lo":
            yield section.fact("nic.mtu", interface.mtu, interface.line, nic)
    if found:
        yield section.fact("node.interface_names", tuple(dict.fromkeys(i.name for i in found)), found[0].line)
    pairs = [(f"{i.name}={address}", line) for i in found for address, line in i.addresses]
    if pairs:
        yield section.fact("node.interfaces", tuple(pair for pair, _ in pairs), pairs[0][1])
    if absent:
        yield section.fact("node.interfaces_missing", tuple(name for name, _ in absent), absent[0][1])


def _with_prefix(match: re.Match[str]) -> str:
    address = str(IPv4Address(match["address"]))
    if match["bits"]:
        return f"{address}/{match['bits']}"
    if match["mask"]:
        mask = match["mask"]
        if mask.startswith("0x"):
            mask = str(IPv4Address(int(mask, 16)))
        return f"{address}/{ip_network(f'0.0.0.0/{mask}').prefixlen}"
    return address
