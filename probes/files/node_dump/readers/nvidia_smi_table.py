"""The table that plain `nvidia-smi` prints, in the layouts of drivers 390 to 580, and its messages when it fails."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import missing, number, size

KIND = "nvidia-smi"
MARKS = (
    "NVIDIA-SMI",
    "Volatile Uncorr. ECC",
    "GPU Memory",
    "NVML",
    "No devices were found",
    "Unable to determine the device handle",
    "MiB /",
)

_VERSION = re.compile(r"Driver Version:\s*(?P<driver>[\d.]+)(?:.*?CUDA Version:\s*(?P<cuda>[\d.]+))?")
_FIRST = re.compile(
    r"^\|\s*(?P<index>\d{1,3})\s+(?P<name>\S.*?)\s+(?P<persistence>On|Off|ERR!|N/A)\s*\|"
    r"\s*(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)\s+\S+\s*\|\s*(?P<ecc>\S+)(?:\s+\S+)?\s*\|"
)
_BROKEN_FIRST = re.compile(
    r"^\|\s*(?P<index>\d{1,3})\s+(?P<name>\S.*?)\s*\|\s*(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)\s.*ERR!"
)
_SECOND = re.compile(
    r"^\|\s*(?P<fan>N/A|\d+%|ERR!)\s+(?P<temperature>\S+)\s+(?P<state>P\d+|N/A|ERR!|Unknown|\S+)\s+(?P<power>\S+)\s*/\s*(?P<cap>\S+)\s*\|"
    r"\s*(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB\s*\|\s*(?P<utilization>\S+)\s+(?P<compute>\S.*?)\s*\|"
)
_BROKEN_SECOND = re.compile(r"^\|\s*(?:N/A|\d+%|ERR!)\s+.*ERR!.*\|")
_THIRD = re.compile(r"^\|\s+\|\s+\|\s*(?P<mig>Enabled\*?|Disabled\*?|N/A)\s*\|")
_MIG = re.compile(r"^\|\s*(?P<index>\d{1,3})\s+\d+\s+\d+\s+\d+\s*\|\s*\d+MiB\s*/\s*\d+MiB\s*\|")
_PROCESS = re.compile(
    r"^\|\s*(?P<index>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d{1,8})\s+(?P<type>M?\+?C(?:\+G)?|G|C\+G)\s+(?P<name>.*?)"
    r"\s*(?P<used>\d+MiB|N/A)\s*\|"
)
_NO_PROCESS = re.compile(r"^\|\s*No running processes found")
_FAILED = re.compile(
    r"NVIDIA-SMI has failed because.*|Failed to initialize NVML: .*|^No devices were found|NVML library version: .*"
    r"|Unable to determine the device handle for (?:gpu|GPU)"
    r"(?:\s*(?:\d{1,2}:\s*)?(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d))?.*"
)


@dataclass(slots=True)
class _Table:
    """The rows of one printing of the table."""

    lines: list[Line] = field(default_factory=list)
    used: int = 0


def recognise(block: Block) -> list[Block]:
    """Of several printings in a row only the one with the most memory in use: that one shows the job."""
    tables = [_Table()]
    seen = False
    for line in block.lines:
        text = line.text.lstrip()
        if "NVIDIA-SMI" in text and _VERSION.search(text):
            if seen:
                tables.append(_Table())
            seen = True
        elif text.startswith("|"):
            if match := _SECOND.match(text):
                tables[-1].used += int(match["used"])
            seen = seen or bool(_FIRST.match(text) or _PROCESS.match(text) or _BROKEN_FIRST.match(text))
        elif not _FAILED.search(text):
            continue
        else:
            seen = True
        tables[-1].lines.append(line)
    if not seen:
        return []
    best = max(tables, key=lambda table: table.used)
    return [block.part(best.lines)]


def read(section: Block) -> Iterator[Fact]:
    gpus: dict[str, Line] = {}
    mig: dict[str, int] = defaultdict(int)
    processes: dict[str, list[tuple[int, str, Line]]] = {}
    listed: Line | None = None
    current = ""
    for line in section.lines:
        text = line.text.lstrip()
        if match := _FIRST.match(text) or _BROKEN_FIRST.match(text):
            current = match["index"]
            gpus.setdefault(current, line)
            yield from _identity(section, line, match)
        elif current and (match := _SECOND.match(text)):
            yield from _load(section, line, match, section.gpu(current))
        elif match := _MIG.match(text):
            mig[match["index"]] += 1
        elif match := _PROCESS.match(text):
            processes.setdefault(match["index"], []).append(
                (int(match["pid"]), f"{match['name']} {match['used']}".strip(), line)
            )
            listed = line
        elif _NO_PROCESS.match(text):
            listed = line
        elif current and _BROKEN_SECOND.match(text):
            yield section.fact("gpu.unreadable", "ERR!", line, section.gpu(current))
        elif match := _THIRD.match(text):
            if current and match["mig"] != "N/A":
                yield section.fact("gpu.mig", match["mig"].startswith("Enabled"), line, section.gpu(current))
        elif match := _VERSION.search(text):
            yield section.fact("node.driver_version", match["driver"], line)
            if match["cuda"]:
                yield section.fact("node.cuda_driver", match["cuda"], line)
        elif match := _FAILED.search(text):
            yield from _failure(section, line, match)
    if gpus:
        yield section.fact("node.gpu_count", len(gpus), next(iter(gpus.values())))
    for index, count in mig.items():
        yield section.fact("gpu.mig_instances", count, gpus.get(index), section.gpu(index))
    if listed:
        yield from _processes(section, listed, {**{index: [] for index in gpus}, **processes})


def _identity(section: Block, line: Line, match: re.Match[str]) -> Iterator[Fact]:
    gpu = section.gpu(match["index"])
    found = match.groupdict()
    if "ERR!" in match["name"] or found.get("ecc") == "ERR!" or "ecc" not in found:
        yield section.fact("gpu.unreadable", "ERR!", line, gpu)
    if not match["name"].startswith("ERR!"):
        yield section.fact("gpu.name", match["name"].rstrip(". "), line, gpu)
    yield section.fact("gpu.bus_id", match["bus"].lower(), line, gpu)
    if (found.get("ecc") or "").isdigit():
        yield section.fact("gpu.ecc_uncorrectable", int(found["ecc"]), line, gpu)
    if found.get("persistence") in ("On", "Off"):
        yield section.fact("gpu.persistence", found["persistence"] == "On", line, gpu)


def _load(section: Block, line: Line, match: re.Match[str], gpu: str) -> Iterator[Fact]:
    yield section.fact("gpu.memory_used", size(match["used"] + "MiB") or 0, line, gpu)
    yield section.fact("gpu.memory_total", size(match["total"] + "MiB") or 0, line, gpu)
    for name, text, parts in (
        ("gpu.temperature", match["temperature"], 1),
        ("gpu.power", match["power"], 1),
        ("gpu.power_limit", match["cap"], 1),
        ("gpu.utilization", match["utilization"], 100),
    ):
        value = number(text)
        if value is not None:
            yield section.fact(name, value / parts, line, gpu)
    if match["state"].startswith("P") and match["state"][1:].isdigit():
        yield section.fact("gpu.performance_state", match["state"], line, gpu)
    if not missing(match["compute"]):
        yield section.fact("gpu.compute_mode", match["compute"], line, gpu)
    if "ERR!" in match[0]:
        yield section.fact("gpu.unreadable", "ERR!", line, gpu)


def _processes(section: Block, listed: Line, processes: dict[str, list[tuple[int, str, Line]]]) -> Iterator[Fact]:
    for index, found in processes.items():
        line = found[0][2] if found else listed
        yield section.fact(
            "gpu.process_pids", tuple(dict.fromkeys(pid for pid, _, _ in found)), line, section.gpu(index)
        )
        if found:
            yield section.fact(
                "gpu.processes", tuple(f"{pid} {name}" for pid, name, _ in found), line, section.gpu(index)
            )


def _failure(section: Block, line: Line, match: re.Match[str]) -> Iterator[Fact]:
    text = match[0].strip()
    if match["bus"]:
        gpu = section.gpu(match["bus"].lower())
        yield section.fact("gpu.unreadable", text, line, gpu)
    elif text.startswith("NVML library version:"):
        yield section.fact("node.nvml_version", text.rpartition(":")[2].strip(), line)
    else:
        yield section.fact("node.nvml_error", text, line)
