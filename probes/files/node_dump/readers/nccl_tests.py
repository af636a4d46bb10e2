"""Result tables of nccl-tests, and the bus bandwidth that a note gives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "nccl-tests"
MARKS = ("busbw", "Avg bus bandwidth", "Out of bounds values", "_perf -", "nThread ")

_ROW = re.compile(
    r"^\s*(?:\S+\s+)??(?P<size>\d+)\s+(?P<count>\d+)\s+(?P<type>float|half|bfloat16|double|u?int\d+|fp8\w*"
    r"|f8\w*)\s+(?:(?P<op>sum|prod|min|max|avg|none|mulsum|all)\s+)?(?:-?\d+\s+)?(?P<numbers>[\d.eE+ N/A-]+)$"
)
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(?P<value>[\d.]+)")
_WRONG = re.compile(r"#\s*Out of bounds values\s*:\s*(?P<count>\d+)\s*(?P<verdict>OK|FAILED)")
_NAME = re.compile(
    r"\b(?P<op>all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv|reduce|gather|scatter|hypercube)_perf\b"
)
_RANKS = re.compile(r"^#\s+Rank\s+(?P<rank>\d+) (?:Group\s+\d+ )?Pid\s+\d+ on\s+(?P<host>\S+) device\s+(?P<device>\d+)")
_NOTE = re.compile(r"\bbusbw\b\D{0,20}(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>[MG]i?B/s|GBps)", re.IGNORECASE)
_HANG = re.compile(r"\b(?:hangs?|hung|stuck|no (?:further )?output)\b", re.IGNORECASE)


def recognise(block: Block) -> list[Block]:
    ours = any(
        _AVERAGE.search(line.text) or _WRONG.search(line.text) or _NOTE.search(line.text) for line in block.lines
    )
    started = any(
        (_NAME.search(line.text) and re.search(r" -[begfn] ", line.text)) or re.match(r"^# nThread ", line.text)
        for line in block.lines
    )
    return [block] if ours or started or _NAME.search(block.command) else []


def read(section: Block) -> Iterator[Fact]:
    rows: list[tuple[int, float, Line]] = []
    wrong: tuple[int, Line] | None = None
    average: tuple[float, Line] | None = None
    ranks: dict[str, Line] = {}
    notes: list[tuple[float, Line]] = []
    named = next(((m["op"], line) for line in section.lines if (m := _NAME.search(line.raw))), None)
    for line in section.lines:
        if match := _ROW.match(line.text):
            numbers = match["numbers"].split()
            if len(numbers) >= 3 and (value := _float(numbers[2])) is not None:
                rows.append((int(match["size"][:18]), value * 1e9, line))
                bad = sum(int(number) for number in (numbers[3:4] + numbers[7:8]) if number.isdigit())
                if bad and wrong is None:
                    wrong = (bad, line)
        elif match := _AVERAGE.search(line.text):
            average = (float(match["value"]) * 1e9, line)
        elif match := _WRONG.search(line.text):
            if int(match["count"][:9]) or wrong is None:
                wrong = (int(match["count"][:9]), line)
        elif match := _RANKS.match(line.text):
            ranks.setdefault(match["host"], line)
        elif match := _NOTE.search(line.text):
            scale = 1e6 if match["unit"].upper().startswith("M") else 1e9
            notes.append((float(match["value"]) * scale, line))
    if named:
        yield section.fact("node.nccl_tests_op", named[0], named[1])
    if average:
        yield section.fact("node.nccl_tests_busbw", *average)
    if rows:
        largest = max(rows, key=lambda row: row[0])
        yield section.fact(
            "node.nccl_tests_busbw_max", max(row[1] for row in rows), max(rows, key=lambda row: row[1])[2]
        )
        yield section.fact("node.nccl_tests_busbw_largest", largest[1], largest[2])
    if wrong:
        yield section.fact("node.nccl_tests_errors", *wrong)
    if ranks:
        yield section.fact("node.nccl_tests_hosts", tuple(ranks), next(iter(ranks.values())))
    if notes:
        yield section.fact("node.busbw_notes", tuple(value for value, _ in notes), notes[0][1])
    if (
        named
        and not rows
        and not average
        and (hang := next((x for x in section.lines[-5:] if _HANG.search(x.text)), None))
    ):
        yield section.fact("node.nccl_tests_hung", True, hang)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
