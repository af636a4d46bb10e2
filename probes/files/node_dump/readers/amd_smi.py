"""AMD GPUs: `amd-smi static`, `metric` and `topology`, as JSON or as text.

The shape is that of amdsmi_cli/amdsmi_commands.py: a list with an entry a GPU until ROCm 6, `{"gpu_data": [...]}` from
7 on; numbers with a unit are `{"value": 41, "unit": "W"}`, and the text has the same names in capitals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import number

KIND = "amd-smi"
MARKS = ('"gpu"', "GPU: ")

KNOWN = (
    "asic",
    "bus",
    "usage",
    "power",
    "clock",
    "temperature",
    "pcie",
    "ecc",
    "mem_usage",
    "links",
    "throttle",
    "limit",
)
"""Parts of an entry; one that has none of them is of another program."""
MOST_GPUS, DEEPEST = 256, 6
MIB = 1 << 20
NUMBERS = {
    "mem_usage.total_vram": ("gpu.memory_total", MIB),
    "mem_usage.used_vram": ("gpu.memory_used", MIB),
    "mem_usage.free_vram": ("gpu.memory_free", MIB),
    "usage.gfx_activity": ("gpu.utilization", 0.01),
    "usage.umc_activity": ("gpu.memory_utilization", 0.01),
    "power.socket_power": ("gpu.power", 1.0),
    "limit.socket_power": ("gpu.power_limit", 1.0),
    "temperature.edge": ("gpu.temperature", 1.0),
    "temperature.hotspot": ("gpu.temperature_hotspot", 1.0),
    "clock.gfx_0.clk": ("gpu.sm_clock", 1e6),
    "clock.gfx_0.max_clk": ("gpu.sm_clock_max", 1e6),
    "pcie.width": ("gpu.pcie_width", 1),
    "bus.max_pcie_width": ("gpu.pcie_width_max", 1),
    "pcie.replay_count": ("gpu.pcie_replays", 1),
    "ecc.total_uncorrectable_count": ("gpu.ecc_uncorrectable", 1),
    "ecc.total_correctable_count": ("gpu.ecc_correctable", 1),
}
"""What a name stands for, and how many base units one is: amd-smi counts memory in MiB, which it calls MB."""
THROTTLES = {
    "prochot": "hw_slowdown",
    "ppt": "sw_power_cap",
    "socket_thermal": "hw_thermal_slowdown",
    "vr_thermal": "hw_thermal_slowdown",
    "hbm_thermal": "hw_thermal_slowdown",
}
"""Violations of MI300 and later in the words of `gpu.throttle_reasons`; a power limit that is reached is usual."""
GPU = re.compile(r'^\s*(?:"gpu"|GPU): (?P<index>\d{1,3}),?\s*$')
KEY = re.compile(r"^(?P<in>\s*)(?P<key>[A-Z]\w*):\s*(?P<value>.*)$")


@dataclass(slots=True)
class _Gpu:
    """An entry: values by their path in small letters, each with its line."""

    index: int
    line: Line
    values: dict[str, tuple[str, Line]] = field(default_factory=dict)
    links: list[Mapping[str, Any]] = field(default_factory=list)


def recognise(block: Block) -> list[Block]:
    return [block] if any(GPU.match(line.text) for line in block.lines) and _gpus(block) else []


def read(block: Block) -> Iterator[Fact]:
    gpus = _gpus(block)
    yield block.fact("node.gpu_count", len({gpu.index for gpu in gpus}), gpus[0].line)
    for gpu in gpus:
        yield from _gpu(block, gpu)
    yield from _topology(block, [gpu for gpu in gpus if gpu.links])


def _gpus(block: Block) -> list[_Gpu]:
    lines = block.lines
    begin = next((i for i, line in enumerate(lines) if line.text.lstrip()[:1] in ("[", "{")), -1)
    found = _from_json(lines[begin:]) if begin >= 0 else _from_text(lines)
    return [gpu for gpu in found if gpu.links or any(path.split(".")[0] in KNOWN for path in gpu.values)][:MOST_GPUS]


def _from_json(lines: tuple[Line, ...]) -> list[_Gpu]:
    try:
        told, _ = json.JSONDecoder().raw_decode("\n".join(line.text for line in lines).lstrip())
    except (ValueError, RecursionError):
        return []
    entries = next(iter(told.values()), None) if isinstance(told, dict) and "gpu" not in told else told
    starts = [place for place, line in enumerate(lines) if GPU.match(line.text)]
    found = []
    for entry in entries if isinstance(entries, list) else [entries]:
        if not isinstance(entry, dict) or type(entry.get("gpu")) is not int:
            continue
        place = next((i for i in starts if f'"gpu": {entry["gpu"]},' in lines[i].text), starts[0] if starts else 0)
        gpu = _Gpu(entry["gpu"], lines[place])
        _flatten(entry, "", gpu, lines[place:])
        links = entry.get("links")
        for link in links[:MOST_GPUS] if isinstance(links, list) else ():
            gpu.links += [link] if isinstance(link, dict) else []
        found.append(gpu)
    return found


def _flatten(part: Mapping[str, Any], path: str, gpu: _Gpu, lines: tuple[Line, ...], depth: int = 0) -> None:
    """Values of `part` into `gpu`; the line of each is the next that has its name."""
    for key, value in part.items():
        name = f"{path}{key}".lower()
        if isinstance(value, dict) and not {"value", "unit"} <= value.keys():
            if depth < DEEPEST:
                start = next((i for i, line in enumerate(lines) if f'"{key}"' in line.text), 0)
                _flatten(value, f"{name}.", gpu, lines[start:], depth + 1)
            continue
        shown = f"{value['value']} {value['unit']}" if isinstance(value, dict) else str(value)
        if name in NUMBERS or not isinstance(value, list):
            place = next((i for i, line in enumerate(lines) if f'"{key}"' in line.text), 0)
            gpu.values[name] = (shown, _joined(lines, place))


def _joined(lines: tuple[Line, ...], place: int) -> Line:
    """A name whose value stands on the line below, as one line."""
    line = lines[place]
    if line.text.rstrip().endswith("{") and place + 1 < len(lines):
        return Line(line.number, line.text, f"{line.raw} {lines[place + 1].raw.strip()}")
    return line


def _from_text(lines: tuple[Line, ...]) -> list[_Gpu]:
    found: list[_Gpu] = []
    parents: list[tuple[int, str]] = []
    for line in lines:
        if match := GPU.match(line.text):
            found.append(_Gpu(int(match["index"]), line))
            parents = []
        elif found and (match := KEY.match(line.text)):
            depth = len(match["in"])
            parents = [parent for parent in parents if parent[0] < depth][:DEEPEST]
            if value := match["value"].strip():
                found[-1].values[".".join([*(name for _, name in parents), match["key"].lower()])] = (value, line)
            else:
                parents.append((depth, match["key"].lower()))
    return found


def _gpu(block: Block, gpu: _Gpu) -> Iterator[Fact]:
    entity = block.gpu(gpu.index)
    yield block.fact("gpu.vendor", "AMD", gpu.line, entity)
    for path, (name, scale) in NUMBERS.items():
        text, line = gpu.values.get(path, ("N/A", gpu.line))
        value = number(text)
        if value is not None and 0 <= value < 1e12:
            yield block.fact(name, int(value * scale) if isinstance(scale, int) else value * scale, line, entity)
    for path, name in (("asic.market_name", "gpu.name"), ("bus.bdf", "gpu.bus_id")):
        text, line = gpu.values.get(path, ("N/A", gpu.line))
        if text not in ("N/A", ""):
            yield block.fact(name, text.lower() if name == "gpu.bus_id" else text[:80], line, entity)
    if "driver.version" in gpu.values and gpu.values["driver.version"][0] != "N/A":
        yield block.fact("node.amdgpu_version", *gpu.values["driver.version"])
    if "xgmi_err" in gpu.values and "STATUS_" in gpu.values["xgmi_err"][0]:
        text, line = gpu.values["xgmi_err"]
        yield block.fact("gpu.xgmi_error", text.partition("STATUS_")[2].lower(), line, entity)
    states = {name: gpu.values.get(f"throttle.{name}_violation_status", ("N/A", gpu.line)) for name in THROTTLES}
    known = {name: (text, line) for name, (text, line) in states.items() if text in ("ACTIVE", "NOT ACTIVE")}
    if known:
        active = {name: line for name, (text, line) in known.items() if text == "ACTIVE"}
        line = next(iter(active.values()), next(iter(known.values()))[1])
        reasons = tuple(dict.fromkeys(THROTTLES[name] for name in active))
        yield block.fact("gpu.throttle_reasons", reasons, line, entity)


def _topology(block: Block, gpus: list[_Gpu]) -> Iterator[Fact]:
    """Of each GPU how many others xGMI links reach, and pairs without peer access."""
    closed = 0
    for gpu in gpus:
        others = [link for link in gpu.links if link.get("link_type") not in (None, "SELF")]
        if others:
            near = sum(link["link_type"] == "XGMI" for link in others)
            yield block.fact("gpu.xgmi_peers", near, gpu.line, block.gpu(gpu.index))
        closed += sum(link.get("link_status") == "DISABLED" and link.get("link_type") != "SELF" for link in gpu.links)
    if gpus and any("link_status" in link for gpu in gpus for link in gpu.links):
        yield block.fact("node.p2p_unsupported_pairs", (closed + 1) // 2, gpus[0].line)
