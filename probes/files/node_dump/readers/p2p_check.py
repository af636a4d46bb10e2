"""Tests of copies between GPUs: p2pBandwidthLatencyTest, simpleP2P, and scripts that compare what arrived."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "p2p test"
MARKS = (
    "cuda:1",
    "P2P=",
    "Peer access",
    "peer access",
    "Verification error",
    "GPU1",
    "to device",
    "-> device",
    "CAN Access Peer",
    "D\\D",
)

_COPY = re.compile(
    r"\b(?:cuda:|GPU ?|device ?)(?P<a>\d{1,2})\s*(?:->|=>|to|→)\s*(?:cuda:|GPU ?"
    r"|device ?)(?P<b>\d{1,2})(?!\s*(?:->|=>|to|→))\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_THREE = re.compile(r"(?:->|=>|→).*(?:->|=>|→)")
_WRONG = re.compile(
    r"\b(?:equal|match|ok|same|correct|identical|passed|allclose)\s*[=:]\s*(?:False|0|no)\b|\b(?:mismatch"
    r"|wrong|corrupt\w*|FAIL(?:ED)?|differs?|not equal)\b",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    r"\b(?:equal|match|ok|same|correct|identical|passed|allclose)\s*[=:]\s*(?:True|1|yes)\b|\b(?:OK|PASS(?:ED)?)\b",
    re.IGNORECASE,
)
_SIMPLE = re.compile(r"^Verification error @ element \d+")
_CANNOT = re.compile(
    r"^(?:> )?(?:Device=(?P<a>\d+) CANNOT Access Peer Device=(?P<b>\d+)"
    r"|Peer access from .*?\(GPU(?P<c>\d+)\) -> .*?\(GPU(?P<d>\d+)\) : No)"
)
_MATRIX = re.compile(
    r"^(?:Uni|Bi)directional P2P=(?P<state>Enabled|Disabled) Bandwidth(?: \(P2P Writes\))? Matrix \(GB/s\)"
)
_ROW = re.compile(r"^\s*(?P<row>\d{1,2})((?:\s+\d+\.\d+)+)\s*$")


def recognise(block: Block) -> list[Block]:
    ours = any(
        _verdict(line) is not None or _SIMPLE.match(line.text) or _CANNOT.match(line.text) or _MATRIX.match(line.text)
        for line in block.lines
    )
    return [block] if ours else []


def _verdict(line: Line) -> tuple[str, bool] | None:
    """(pair, right?) of a line that says whether a copy between two GPUs arrived as it was sent."""
    text = line.text[:400]
    match = _COPY.search(text)
    if not match or match["a"] == match["b"] or _THREE.search(text):
        return None
    wrong = _WRONG.search(match["rest"])
    if not wrong and not _RIGHT.search(match["rest"]):
        return None
    return f"{match['a']}->{match['b']}", not wrong


def read(section: Block) -> Iterator[Fact]:
    right: dict[str, Line] = {}
    wrong: dict[str, Line] = {}
    cannot: list[Line] = []
    for line in section.lines:
        if verdict := _verdict(line):
            (right if verdict[1] else wrong).setdefault(verdict[0], line)
        elif _SIMPLE.match(line.text):
            wrong.setdefault("?->?", line)
        elif _CANNOT.match(line.text):
            cannot.append(line)
    if wrong:
        yield section.fact("node.p2p_copy_wrong", tuple(wrong), next(iter(wrong.values())))
    if right:
        yield section.fact("node.p2p_copy_ok", tuple(right), next(iter(right.values())))
    if cannot:
        yield section.fact("node.p2p_status", "NS", cannot[0])
        yield section.fact("node.p2p_unsupported_pairs", len({line.text for line in cannot}) // 2 or 1, cannot[0])
    yield from _bandwidth(section)


def _bandwidth(section: Block) -> Iterator[Fact]:
    enabled = False
    found: list[tuple[float, Line]] = []
    for line in section.lines:
        if match := _MATRIX.match(line.text):
            enabled = match["state"] == "Enabled"
        elif enabled and (match := _ROW.match(line.text)):
            row = int(match["row"])
            found += [(float(text) * 1e9, line) for column, text in enumerate(match[2].split()) if column != row]
    if found:
        yield section.fact("node.p2p_bandwidth", *min(found, key=lambda pair: pair[0]))
