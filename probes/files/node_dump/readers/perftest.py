"""Bandwidth of links outside a job: ib_write_bw and its family, and iperf."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import bit_rate

KIND = "perftest"
MARKS = ("BW average", "BW peak", "ib_write_bw", "ib_read_bw", "ib_send_bw", "bits/sec", "MsgRate")

_HEADING = re.compile(r"#bytes\s+#iterations\s+BW peak\[(?P<unit>MB/sec|MiB/sec|Gb/sec)\]\s+BW average", re.IGNORECASE)
_ROW = re.compile(r"^\s*(?P<size>\d+)\s+(?P<count>\d+)\s+(?P<peak>[\d.]+)\s+(?P<average>[\d.]+)\s+[\d.]+\s*$")
_SHORT = re.compile(
    r"\bib_(?:write|read|send)_bw\b[^:=]{0,60}[:=]\s*(?P<rate>[\d.]+\s*(?P<unit>[MG]i?[bB](?:it)?(?:/s(?:ec)?|ps)))"
)
_IPERF = re.compile(
    r"^\[\s*(?:\d+|SUM)\]\s+[\d.]+-\s*[\d.]+\s+sec\s+[\d.]+ \wBytes\s+(?P<rate>[\d.]+ [KMG]?bits/sec)(?P<rest>.*)$"
)
_FAILED = re.compile(
    r"Couldn't (?:connect to|listen|create|modify)|Failed to modify QP|Unable to (?:open"
    r"|find) (?:the )?(?:device|IB)|Failed status \d+|Completion with error|IB device .* not found"
)


def recognise(block: Block) -> list[Block]:
    heads = any(
        _HEADING.search(line.text) or _SHORT.search(line.raw) or _IPERF.match(line.text) for line in block.lines
    )
    failed = re.match(r"ib_\w+_(?:bw|lat)", block.command) and any(_FAILED.search(line.text) for line in block.lines)
    return [block] if heads or failed else []


def read(section: Block) -> Iterator[Fact]:
    unit = ""
    best: tuple[float, Line] | None = None
    tcp: tuple[float, Line] | None = None
    for line in section.lines:
        if match := _HEADING.search(line.text):
            unit = match["unit"].lower()
        elif unit and (match := _ROW.match(line.text)):
            best = _larger(
                best, float(match["average"]) * {"mb/sec": 2**20, "mib/sec": 2**20, "gb/sec": 1e9 / 8}[unit], line
            )
        elif match := _SHORT.search(line.raw):
            best = _larger(best, _rate(match["rate"], match["unit"]), line)
        elif match := _IPERF.match(line.text):
            if "sender" not in match["rest"]:
                tcp = _larger(tcp, bit_rate(match["rate"]) or 0.0, line)
        elif match := _FAILED.search(line.text):
            yield section.fact("node.perftest_error", line.text.strip()[:300], line)
    if best:
        yield section.fact("node.ib_bandwidth", best[0], best[1])
    if tcp:
        yield section.fact("node.tcp_bandwidth", tcp[0], tcp[1])


def _rate(text: str, unit: str) -> float:
    """perftest calls a mebibyte MB; a small b is a bit."""
    if "b" in unit.replace("B", ""):
        return bit_rate(text) or 0.0
    scale = 2**30 if unit.startswith("G") else 2**20
    return float(re.match(r"[\d.]+", text)[0]) * scale  # type: ignore[index]


def _larger(best: tuple[float, Line] | None, value: float, line: Line) -> tuple[float, Line]:
    return best if best and best[0] >= value else (value, line)
