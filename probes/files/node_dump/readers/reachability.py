"""Can the hosts talk: ping, nc and telnet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "ping"
MARKS = (
    "packets transmitted",
    "bytes from",
    "succeeded!",
    "Connection refused",
    "timed out",
    "No route to host",
    "Connected to",
    "Connection to",
    "Unreachable",
    "(UNKNOWN)",
    "Ncat:",
    "too long",
    "Frag needed",
)

_LOSS = re.compile(
    r"\b(?P<sent>\d{1,9}) packets transmitted, (?P<received>\d{1,9}) (?:packets )"
    r"?received.*?(?P<loss>\d[\d.]{0,9})% packet loss"
)
_TARGET = re.compile(r"^(?:PING|---) (?P<host>[\w.-]+)")
_TOO_LONG = re.compile(r"(?:Frag needed|message too long|Message too long).*?(?:mtu\s?=\s?(?P<mtu>\d+))?")
_OPEN = (
    re.compile(
        r"^Connection to (?P<host>[\w.-]+) (?:\([\w.:-]+\) )?(?:port )?(?P<port>\d+) (?:port )?\[.*\] succeeded!"
    ),
    re.compile(r"^(?P<host>[\w.-]+)(?: \[[\d.]+\])? (?P<port>\d+) (?:\([^)]*\) )?open\b"),
    re.compile(r"^Ncat: Connected to (?P<host>[\w.-]+):(?P<port>\d+)"),
)
_CLOSED = (
    re.compile(r"^nc: connect to (?P<host>[\w.-]+) (?:\([\w.:-]+\) )?port (?P<port>\d+) \(\w+\) failed: (?P<why>.+)$"),
    re.compile(
        r"^(?:\(UNKNOWN\) )?\[?(?P<host>[\w.-]+)\]? (?P<port>\d+) \([^)]*\) : (?P<why>Connection \w+.*"
        r"|No route to host.*)$"
    ),
    re.compile(
        r"^telnet: (?:Unable to connect to remote host"
        r"|connect to address (?P<host>[\d.]+))(?P<port>): (?P<why>.+)$"
    ),
    re.compile(
        r"^Ncat: (?P<why>Connection refused|Connection timed out|TIMEOUT"
        r"|No route to host)\.?(?P<host>)(?P<port>)$"
    ),
)  # fmt: skip


def recognise(block: Block) -> list[Block]:
    hits = [
        line
        for line in block.lines
        if _LOSS.search(line.text) or _first(_OPEN, line) or _first(_CLOSED, line) or _is_too_long(line)
    ]
    if not hits:
        return []
    return [
        block.part(
            [line for line in block.lines if line in hits or _TARGET.match(line.text) or _TOO_LONG.search(line.text)]
        )
    ]


def _is_too_long(line: Line) -> bool:
    """What ping says itself; a job may fail with the same words."""
    return bool(_TOO_LONG.search(line.text)) and line.raw.lstrip().startswith(("ping:", "From "))


def _first(patterns: tuple[re.Pattern[str], ...], line: Line) -> re.Match[str] | None:
    return next((match for pattern in patterns if (match := pattern.match(line.raw.strip()[:400]))), None)


def read(section: Block) -> Iterator[Fact]:
    found: dict[str, list[tuple[str, Line]]] = {}
    target = ""
    asked = re.search(r"(?P<host>[\w.-]+) (?P<port>\d+)$", section.command)
    for line in section.lines:
        if match := _TARGET.match(line.text):
            target = match["host"]
        if match := _LOSS.search(line.text):
            lossy = float(match["loss"]) > 0
            name = "node.ping_failed" if match["received"] == "0" else "node.ping_lossy" if lossy else "node.ping_ok"
            found.setdefault(name, []).append((target or "?", line))
        elif match := _first(_OPEN, line):
            found.setdefault("node.ports_open", []).append((f"{match['host']}:{match['port']}", line))
        elif match := _first(_CLOSED, line):
            host = match["host"] or (asked["host"] if asked else "?")
            port = match["port"] or (asked["port"] if asked else "?")
            found.setdefault("node.ports_closed", []).append((f"{host}:{port} {match['why'].strip()}", line))
        elif match := _TOO_LONG.search(line.text):
            found.setdefault("node.ping_too_long", []).append((target or "?", line))
    for name, rows in found.items():
        yield section.fact(name, tuple(dict.fromkeys(text for text, _ in rows)), rows[0][1])
