"""nvbandwidth: copies between GPUs and with the host, as text or as JSON (`-j`).

Text has a line `Running NAME.`, a line that says what rows and columns are, and a matrix (nvbandwidth, output.cpp and
inline_common.h); JSON has the same by test case (json_output.cpp). Only copies one way at a time by the copy engines
are compared, since only they have one pair at work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from statistics import median

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "nvbandwidth"
MARKS = ("nvbandwidth", "memcpy CE ", "memcpy SM ")

BETWEEN = ("device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce")
WITH_HOST = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce")

Matrix = list[list[float | None]]

_RUNNING = re.compile(r"^Running (?P<name>[a-z][a-z0-9_]{5,80})\.\s*$")
_ROW = re.compile(r"^\s*(?P<row>\d{1,3})(?P<cells>(?:\s+(?:\d+\.\d+|N/A)){1,128})\s*$")
_STATUS = re.compile(r"^(?:ERROR|Error|error|\[Error\]|Invalid value when checking)\b")
_DESCRIBED = re.compile(r"^memcpy (?:CE|SM|local) .{3,60} bandwidth \(GB/s\)\s*$")


def recognise(block: Block) -> list[Block]:
    text = any(_RUNNING.match(line.text) for line in block.lines) and any(
        _DESCRIBED.match(line.text) for line in block.lines
    )
    return [block] if text or _document(block) is not None else []


def read(section: Block) -> Iterator[Fact]:
    document = _document(section)
    found = _cases(document, section) if document is not None else _text(section)
    failed: list[tuple[str, Line]] = []
    between: list[tuple[Matrix, Line]] = []
    host: list[tuple[Matrix, Line]] = []
    for name, matrix, error, line in found:
        if error:
            failed.append((name, line))
        elif matrix and name in BETWEEN:
            between.append((matrix, line))
        elif matrix and name in WITH_HOST:
            host.append((matrix, line))
    if failed:
        yield section.fact("node.nvbandwidth_failed", tuple(name for name, _ in failed), failed[0][1])
    pairs = [
        (value, line)
        for matrix, line in between
        for one, row in enumerate(matrix)
        for other, value in enumerate(row)
        if value is not None and one != other
    ]
    if pairs:
        slowest = min(pairs, key=lambda pair: pair[0])
        yield section.fact("node.p2p_bandwidth", slowest[0] * 1e9, slowest[1])
        yield from _shares(section, "gpu.copy_share", _of_gpus(between), between[0][1])
    columns = [
        (at, value, line)
        for matrix, line in host
        for row in matrix
        for at, value in enumerate(row)
        if value is not None
    ]
    if columns:
        lowest = min(columns, key=lambda one: one[1])
        yield section.fact("node.host_copy_bandwidth", lowest[1] * 1e9, lowest[2])
        rates: dict[int, float] = {}
        for at, value, _ in columns:
            rates[at] = min(value, rates.get(at, value))
        yield from _shares(section, "gpu.host_copy_share", rates, host[0][1])


def _of_gpus(matrices: list[tuple[Matrix, Line]]) -> dict[int, float]:
    """The median rate of each GPU with the others, of its slower direction."""
    own: dict[int, list[float]] = {}
    for matrix, _ in matrices:
        for at in range(len(matrix)):
            row = [value for other, value in enumerate(matrix[at]) if value is not None and other != at]
            column = [
                line[at] for other, line in enumerate(matrix) if other != at and at < len(line) and line[at] is not None
            ]
            for values in (row, column):
                if known := [value for value in values if value is not None]:
                    own.setdefault(at, []).append(median(known))
    return {at: min(values) for at, values in own.items()}


def _shares(section: Block, name: str, rates: Mapping[int, float], line: Line) -> Iterator[Fact]:
    """Each GPU's rate over the usual one, where enough of them say what is usual."""
    usual = median(rates.values()) if len(rates) > 2 else 0.0
    for at, rate in rates.items():
        if usual > 0:
            yield section.fact(name, rate / usual, line, section.gpu(at))


def _text(section: Block) -> Iterator[tuple[str, Matrix, bool, Line]]:
    name, matrix, error, start = "", list[list[float | None]](), False, None
    for line in section.lines:
        if match := _RUNNING.match(line.text):
            if start:
                yield name, matrix, error, start
            name, matrix, error, start = match["name"], [], False, line
        elif start and (match := _ROW.match(line.text)) and int(match["row"]) == len(matrix):
            matrix.append([_number(cell) for cell in match["cells"].split()])
        elif start and _STATUS.match(line.text):
            error = True
    if start:
        yield name, matrix, error, start


def _document(block: Block) -> Mapping[str, object] | None:
    """What lies below "nvbandwidth" in JSON, also where a command or warnings stand before it."""
    text = "\n".join(line.text for line in block.lines)
    start, end = text.find("{"), text.rfind("}")
    if '"nvbandwidth"' not in text or not 0 <= start < end:
        return None
    try:
        whole = json.loads(text[start : end + 1])
    except ValueError:
        return None
    inner = whole.get("nvbandwidth") if isinstance(whole, dict) else None
    return inner if isinstance(inner, dict) else None


def _cases(document: Mapping[str, object], section: Block) -> Iterator[tuple[str, Matrix, bool, Line]]:
    cases = document.get("testcases")
    for case in cases if isinstance(cases, list) else []:
        if not isinstance(case, dict) or not isinstance(name := case.get("name"), str):
            continue
        line = next((one for one in section.lines if f'"{name}"' in one.text), section.lines[0])
        rows = case.get("bandwidth_matrix")
        matrix = [
            [_number(str(cell)) for cell in row]
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, list)
        ]
        yield name, matrix, case.get("status") == "Error" or "error" in case, line


def _number(text: str) -> float | None:
    """GB/s; None where nothing was measured, which the diagonal of a matrix shows as 0."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1e6 else None
