"""The long listing of `nvidia-smi -q`, whole, of one topic (`-d ECC`) or what grep left of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import integer, missing, number, size

KIND = "nvidia-smi -q"
MARKS = (
    "NVSMI LOG",
    "Product Name",
    "Remapped Rows",
    "Throttle Reasons",
    "Event Reasons",
    "ECC Errors",
    "ECC Mode",
    "MIG Mode",
    "Fabric",
    "Attached GPUs",
)

_GPU = re.compile(r"^GPU (?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
_PAIR = re.compile(r"^(?P<key>[^:|]{2,60}?)\s*:\s(?P<value>.*)$")
_HEADINGS = re.compile(
    r"^(?:ECC Errors|Remapped Rows|Fabric|Clocks (?:Throttle|Event) Reasons(?: Counters)?|(?:GPU |Module )?Power Readings|Temperature|GPU Link Info"
    r"|PCIe Generation|Link Width|FB Memory Usage|Retired Pages|Max Clocks|Volatile|Aggregate|ECC Mode|MIG Mode|Utilization)$"
)
# What only this listing prints: one is enough to know a fragment by.
_SURE = re.compile(
    r"NVSMI LOG|^GPU [0-9A-Fa-f]{8}:|^(?:ECC Errors|Remapped Rows|Clocks (?:Throttle|Event) Reasons|FB Memory Usage|GPU Link Info)\s*$"
    r"|^(?:HW|SW) (?:Thermal |Power Brake )?Slowdown\s+:|^(?:DRAM|SRAM) (?:Unc|C)orrectable|^Remapping Failure Occurred\s*:|^CliqueId\s*:"
)
_REASONS = {
    "idle": "idle",
    "applications clocks setting": "applications_clocks",
    "sw power cap": "sw_power_cap",
    "hw slowdown": "hw_slowdown",
    "hw thermal slowdown": "hw_thermal_slowdown",
    "hw power brake slowdown": "hw_power_brake",
    "sync boost": "sync_boost",
    "sw thermal slowdown": "sw_thermal_slowdown",
    "display clock setting": "display_clocks",
}


@dataclass(frozen=True, slots=True)
class _Row:
    line: Line
    heading: str
    above: str
    key: str
    value: str


def recognise(block: Block) -> list[Block]:
    texts = [line.text.strip() for line in block.lines]
    if not any(_SURE.search(text) for text in texts) and not _fabric_fragment(texts):
        return []
    return [block]


def _fabric_fragment(texts: list[str]) -> bool:
    """`nvidia-smi -q | grep -A 2 Fabric`."""
    return any(a == "Fabric" and re.match(r"State\s+:", b) for a, b in zip(texts, texts[1:], strict=False))


def read(section: Block) -> Iterator[Fact]:
    gpus = _by_gpu(section)
    attached = next((r for _, rows in gpus for r in rows if r.key == "Attached GPUs"), None)
    if attached and (count := integer(attached.value)) is not None:
        yield section.fact("node.gpu_count", count, attached.line)
    whole = attached is not None and integer(attached.value) == sum(1 for bus, _ in gpus if bus)
    ordinal = 0
    for bus, rows in gpus:
        yield from _node_facts(section, rows)
        name = str(ordinal) if whole or not bus else bus
        if bus or any(row.heading for row in rows):
            found = list(_gpu_facts(section, rows, section.gpu(name)))
            if bus and found:
                yield section.fact("gpu.bus_id", bus, rows[0].line if rows else None, section.gpu(name))
            yield from found
            ordinal += 1 if found else 0


def _by_gpu(section: Block) -> list[tuple[str, list[_Row]]]:
    """Rows of each GPU. Where grep removed the GPU lines, a heading that comes again starts the next GPU."""
    found: list[tuple[str, list[_Row]]] = [("", [])]
    stack: list[tuple[int, str]] = []
    headings: set[tuple[str, ...]] = set()
    for line in section.lines:
        text = line.text.strip()
        if match := _GPU.match(text):
            found.append((match["bus"].lower(), []))
            stack, headings = [], set()
            continue
        indent = len(line.text.expandtabs()) - len(line.text.expandtabs().lstrip())
        pair = _PAIR.match(text + " ")
        if pair is None and not (text and len(text) < 60 and (indent or _HEADINGS.match(text))):
            continue
        while stack and stack[-1][0] >= indent and (indent or pair is None):
            stack.pop()
        if pair is None:
            path = (*(name for _, name in stack), text)
            if not found[-1][0] and path in headings and text in ("Fabric", "ECC Errors", "Remapped Rows"):
                found.append(("", []))
                headings = set()
            headings.add(path)
            stack.append((indent, text))
            continue
        names = [name for _, name in stack]
        found[-1][1].append(
            _Row(
                line,
                names[-1] if names else "",
                names[-2] if len(names) > 1 else "",
                pair["key"].strip(),
                pair["value"].strip(),
            )
        )
    return found


def _node_facts(section: Block, rows: list[_Row]) -> Iterator[Fact]:
    for row in rows:
        if row.heading == "" and row.key in ("Driver Version", "CUDA Version") and re.match(r"[\d.]+$", row.value):
            yield section.fact("node.driver_version" if row.key[0] == "D" else "node.cuda_driver", row.value, row.line)


def _gpu_facts(section: Block, rows: list[_Row], gpu: str) -> Iterator[Fact]:
    yield from _errors(section, rows, gpu)
    reasons: list[str] = []
    reasons_line: Line | None = None
    for row in rows:
        where, key, value = row.heading, row.key, row.value
        if (
            "Reasons" in where
            and "Counters" not in where
            or key.lower() in _REASONS
            and value in ("Active", "Not Active")
        ):
            reasons_line = reasons_line or row.line
            if value == "Active" and key.lower() in _REASONS:
                reasons.append(_REASONS[key.lower()])
                reasons_line = row.line
        elif name := _number_name(where, key):
            amount = number(value)
            if amount is not None:
                yield section.fact(name, amount * _SCALE.get(name, 1.0) if name in _SCALE else amount, row.line, gpu)
        elif name := _INT.get((where, key)):
            whole = integer(value)
            if whole is not None:
                yield section.fact(name, whole, row.line, gpu)
        elif where in ("FB Memory Usage",) and (name := _MEMORY.get(key)):
            amount = size(value)
            if amount is not None:
                yield section.fact(name, amount, row.line, gpu)
        elif name := _FLAG.get((where, key)):
            if value.split()[0:1] and value.split()[0].rstrip("*") in ("Yes", "No", "Enabled", "Disabled"):
                yield section.fact(name, value.split()[0].rstrip("*") in ("Yes", "Enabled"), row.line, gpu)
        elif (name := _TEXT.get((where, key)) or _TEXT.get(("*", key))) and not missing(value):
            yield section.fact(name, value, row.line, gpu)
    if reasons_line:
        yield section.fact("gpu.throttle_reasons", tuple(reasons), reasons_line, gpu)


_SCALE = {"gpu.utilization": 0.01, "gpu.sm_clock": 1e6, "gpu.sm_clock_max": 1e6}
_INT = {
    ("Remapped Rows", "Correctable Error"): "gpu.remap_correctable",
    ("Remapped Rows", "Uncorrectable Error"): "gpu.remap_uncorrectable",
    ("PCI", "Replays Since Reset"): "gpu.pcie_replays",
    ("GPU Link Info", "Replays Since Reset"): "gpu.pcie_replays",
    ("Double Bit ECC", "Retired Page Count"): "gpu.retired_pages",
    ("PCIe Generation", "Current"): "gpu.pcie_gen",
    ("PCIe Generation", "Max"): "gpu.pcie_gen_max",
    ("Link Width", "Current"): "gpu.pcie_width",
    ("Link Width", "Max"): "gpu.pcie_width_max",
}
_MEMORY = {"Total": "gpu.memory_total", "Used": "gpu.memory_used", "Free": "gpu.memory_free"}
_FLAG = {
    ("Remapped Rows", "Pending"): "gpu.remap_pending",
    ("Remapped Rows", "Remapping Failure Occurred"): "gpu.remap_failed",
    ("MIG Mode", "Current"): "gpu.mig",
    ("ECC Mode", "Current"): "gpu.ecc_enabled",
    ("Retired Pages", "Pending Page Blacklist"): "gpu.retired_pending",
    ("", "Persistence Mode"): "gpu.persistence",
}
_TEXT = {
    ("*", "Product Name"): "gpu.name",
    ("*", "Performance State"): "gpu.performance_state",
    ("*", "Compute Mode"): "gpu.compute_mode",
    ("*", "GSP Firmware Version"): "gpu.gsp_firmware",
    ("*", "GPU Recovery Action"): "gpu.recovery_action",
    ("Fabric", "State"): "gpu.fabric_state",
    ("Fabric", "Status"): "gpu.fabric_status",
    ("Fabric", "CliqueId"): "gpu.fabric_clique",
    ("Health", "Bandwidth"): "gpu.fabric_bandwidth",
}


def _number_name(heading: str, key: str) -> str:
    if heading == "Utilization" and key == "Gpu" or heading == "Utilization" and key == "GPU":
        return "gpu.utilization"
    if key == "GPU Current Temp":
        return "gpu.temperature"
    if key == "GPU Slowdown Temp":
        return "gpu.temperature_slowdown"
    if "Power Readings" in heading and not heading.startswith("Module"):
        return {
            "Power Draw": "gpu.power",
            "Average Power Draw": "gpu.power",
            "Instantaneous Power Draw": "gpu.power",
            "Power Limit": "gpu.power_limit",
            "Current Power Limit": "gpu.power_limit",
            "Enforced Power Limit": "gpu.power_limit",
            "Default Power Limit": "gpu.power_limit_default",
        }.get(key, "")
    if key == "SM":
        return {"Clocks": "gpu.sm_clock", "Max Clocks": "gpu.sm_clock_max"}.get(heading, "")
    return ""


def _errors(section: Block, rows: list[_Row], gpu: str) -> Iterator[Fact]:
    """ECC counters: uncorrectable are the sum of DRAM and SRAM (parity and SEC-DED), or the double-bit total of old drivers."""
    sums: dict[str, tuple[int, Line]] = {}
    for row in rows:
        place = row.heading if row.heading in ("Volatile", "Aggregate") else row.above
        if place not in ("Volatile", "Aggregate"):
            continue
        if row.heading in ("Single Bit", "Double Bit"):
            if row.key != "Total":
                continue
            bad = row.heading == "Double Bit"
        elif re.match(r"(?:DRAM|SRAM) (?:Unc|C)orrectable", row.key):
            bad = "Uncorrectable" in row.key
        else:
            continue
        count = integer(row.value)
        if count is None:
            continue
        name = ("gpu.ecc_uncorrectable" if bad else "gpu.ecc_correctable") + (
            "" if place == "Volatile" else "_aggregate"
        )
        before, line = sums.get(name, (0, row.line))
        sums[name] = (before + count, row.line if count else line)
    for name, (total, line) in sums.items():
        yield section.fact(name, total, line, gpu)
