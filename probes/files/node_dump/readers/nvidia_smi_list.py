"""Short listings of GPUs: `nvidia-smi -L` with MIG devices, gpustat, and `nvidia-smi dmon`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import number

KIND = "nvidia-smi list"
MARKS = ("(UUID: ", "nvidia-smi dmon", " MB |", "# gpu", "#gpu", "sm%")

_GPU = re.compile(r"^\s*GPU (?P<index>\d{1,3}): (?P<name>.+?) \(UUID: (?P<uuid>GPU-[\w-]+)\)\s*$")
_MIG = re.compile(r"^\s+MIG (?P<profile>\S+)\s+Device\s+\d+: \(UUID: MIG-")
_GPUSTAT = re.compile(
    r"^\[(?P<index>\d{1,3})\] (?P<name>.+?)\s*\|\s*(?P<temperature>\d+"
    r"|\?+).{0,3}C,\s*(?:\d+ %,\s*)?(?P<utilization>\d+|\?+) %"
    r"(?:,\s*(?P<power>\d+|\?+)(?: /\s*(?P<limit>\d+|\?+))? W)?\s*\|\s*(?P<used>\d+) /\s*(?P<total>\d+) MB\s*\|"
)
_DMON = re.compile(r"^#\s*gpu\s+(?P<columns>\w.*)$", re.IGNORECASE)
_SHORT = re.compile(r"\bsm%?\s*[:=]?\s*(?P<value>\d{1,3}(?:\.\d+)?)\s*%?(?=\s|,|$)")
_MEAN = {
    "sm": ("gpu.utilization", 100.0),
    "pwr": ("gpu.power", 1.0),
    "gtemp": ("gpu.temperature", 1.0),
    "temp": ("gpu.temperature", 1.0),
    "mem": ("gpu.memory_utilization", 100.0),
    "pclk": ("gpu.sm_clock", 1e-6),
}
_MAX_SAMPLES = 100_000


def recognise(block: Block) -> list[Block]:
    ours = any(_GPU.match(line.text) or _GPUSTAT.match(line.text) or _DMON.match(line.text) for line in block.lines)
    return [block] if ours or _note(block) else []


def _note(block: Block) -> Line | None:
    """`sm% 17  mem% 9`, what somebody noted of dmon."""
    if len(block.lines) > 30 or not ("dmon" in block.command or any("dmon" in line.text for line in block.lines)):
        return None
    return next((line for line in block.lines if _SHORT.search(line.text) and not _DMON.match(line.text)), None)


def read(section: Block) -> Iterator[Fact]:
    current = ""
    mig: dict[str, list[Line]] = defaultdict(list)
    gpus: list[Line] = []
    for line in section.lines:
        if match := _GPU.match(line.text):
            current = match["index"]
            gpus.append(line)
            yield section.fact("gpu.name", match["name"], line, section.gpu(current))
        elif current and _MIG.match(line.text):
            mig[current].append(line)
        elif match := _GPUSTAT.match(line.text):
            gpus.append(line)
            yield from _gpustat(section, line, match)
    if gpus:
        yield section.fact("node.gpu_count", len(gpus), gpus[0])
    for index, lines in mig.items():
        yield section.fact("gpu.mig", True, lines[0], section.gpu(index))
        yield section.fact("gpu.mig_instances", len(lines), lines[0], section.gpu(index))
    if any(_DMON.match(line.text) for line in section.lines):
        yield from _dmon(section)
    elif (note := _note(section)) and (match := _SHORT.search(note.text)):
        yield section.fact("node.gpu_utilization", float(match["value"]) / 100, note)


def _gpustat(section: Block, line: Line, match: re.Match[str]) -> Iterator[Fact]:
    gpu = section.gpu(match["index"])
    yield section.fact("gpu.name", match["name"], line, gpu)
    yield section.fact("gpu.memory_used", int(match["used"]) << 20, line, gpu)
    yield section.fact("gpu.memory_total", int(match["total"]) << 20, line, gpu)
    for name, text, parts in (
        ("gpu.utilization", match["utilization"], 100),
        ("gpu.temperature", match["temperature"], 1),
        ("gpu.power", match["power"], 1),
    ):
        value = number(text or "")
        if value is not None:
            yield section.fact(name, value / parts, line, gpu)


def _dmon(section: Block) -> Iterator[Fact]:
    """The mean over all samples of each GPU."""
    columns: list[str] = []
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    first: dict[str, Line] = {}
    for line in section.lines[:_MAX_SAMPLES]:
        if match := _DMON.match(line.text):
            columns = match["columns"].lower().split()
            continue
        cells = line.text.split()
        if not columns or len(cells) != len(columns) + 1 or not cells[0].isdigit():
            continue
        first.setdefault(cells[0], line)
        for column, cell in zip(columns, cells[1:], strict=True):
            if column in _MEAN and (value := number(cell)) is not None:
                values[cells[0], column].append(value)
    for (gpu, column), samples in values.items():
        name, parts = _MEAN[column]
        yield section.fact(name, sum(samples) / len(samples) / parts, first[gpu], section.gpu(gpu))
