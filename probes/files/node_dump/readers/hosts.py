"""Names to addresses: /etc/hosts, `getent hosts`, nslookup, and programs that could not resolve a name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "hosts"
MARKS = (
    "127.",
    "localhost",
    "ip6-",
    "name resolution",
    "not known",
    "find name",
    "NXDOMAIN",
    "getent",
    "hosts",
    "could not resolve",
    "Could not resolve",
)

_ENTRY = re.compile(
    r"^\s*(?P<address>\d{1,3}(?:\.\d{1,3}){3}|::1|(?:[0-9a-f]{1,4}:){2,7}[0-9a-f:]{1,20}|f[ef]\w\w::\w*)\s+(?P<names>[A-Za-z][\w.-]*(?:\s+[A-Za-z][\w.-]*){0,12})\s*(?:#.*)?$"
)
_USUAL = re.compile(r"^(?:localhost\d?(?:\.localdomain\d?)?|localhost4(?:\..*)?|ip6-\S+|localhost6?\S*|loopback)$")
_FAILED = (
    re.compile(
        r"^(?:ping6?|ssh|nc|ncat|telnet"
        r"|curl)(?:: connect to)?: (?:\(\d+\) )?(?:host )?(?P<name>[A-Za-z][\w.-]*)"
        r": (?:Temporary failure in name resolution|Name or service not known|No address associated"
        r"|Unknown host)"
    ),
    re.compile(r"^ping: unknown host (?P<name>\S+)"),
    re.compile(r"[Cc]ould not resolve (?:host|hostname)[: ]+(?P<name>[\w.-]+)"),
    re.compile(r"\*\* server can't find (?P<name>[\w.-]+?):? (?:NXDOMAIN|SERVFAIL|REFUSED)"),
    re.compile(r"^Host (?P<name>[\w.-]+) not found: \d"),
    re.compile(r"^(?P<name>[A-Za-z][\w.-]*): (?:Temporary failure in name resolution|Name or service not known)"),
    re.compile(r"getaddrinfo(?: failed)? (?:for|of) '?(?P<name>[\w.-]+)'?.*(?:not known|failure)"),
)  # fmt: skip
_LOOKUP = re.compile(r"^Name:\s+(?P<name>[\w.-]+)\s*$")
_ADDRESS = re.compile(r"^Address:\s+(?P<address>\d{1,3}(?:\.\d{1,3}){3})\s*$")


def recognise(block: Block) -> list[Block]:
    full = [line for line in block.lines if line.text.strip() and not line.text.lstrip().startswith("#")]
    entries = [line for line in full if _ENTRY.match(line.text)]
    failed = [line for line in full if _failed(line)]
    asked = "hosts" in block.command or "getent" in block.command
    table = entries and (asked or (2 * len(entries) > len(full) and any(_sure(line) for line in entries)))
    found = [
        *(entries if table else ()),
        *failed,
        *(_lookups(full) if "Address:" in "".join(line.text for line in full[:50]) else ()),
    ]
    return [block.part(sorted(found, key=lambda line: line.number))] if found else []


def _sure(line: Line) -> bool:
    match = _ENTRY.match(line.text)
    return bool(
        match and (match["address"].startswith("127.") or match["address"] == "::1" or "localhost" in match["names"])
    )


def _failed(line: Line) -> str:
    return next((match["name"] for pattern in _FAILED if (match := pattern.search(line.raw[:500]))), "")


def _lookups(lines: list[Line]) -> list[Line]:
    return [line for line in lines if _LOOKUP.match(line.text) or _ADDRESS.match(line.text)]


def read(section: Block) -> Iterator[Fact]:
    entries: list[tuple[str, str, Line]] = []
    unresolved: dict[str, Line] = {}
    asked = ""
    for line in section.lines:
        if name := _failed(line):
            unresolved.setdefault(name, line)
        elif match := _ENTRY.match(line.text):
            entries += [(name, match["address"], line) for name in match["names"].split()]
        elif match := _LOOKUP.match(line.text):
            asked = match["name"]
        elif asked and (match := _ADDRESS.match(line.text)):
            entries.append((asked, match["address"], line))
            asked = ""
    named = [(name, address, line) for name, address, line in entries if not _USUAL.match(name)]
    loopback = [
        (name, address, line) for name, address, line in named if address.startswith("127.") or address == "::1"
    ]
    if named:
        yield section.fact("node.hosts_entries", tuple(f"{name}={address}" for name, address, _ in named), named[0][2])
    if entries:
        line = loopback[0][2] if loopback else entries[0][2]
        yield section.fact("node.hosts_loopback", tuple(dict.fromkeys(name for name, _, _ in loopback)), line)
    if unresolved:
        yield section.fact("node.hosts_unresolved", tuple(unresolved), next(iter(unresolved.values())))
