"""The long listing of `nvidia-smi -q`, whole, of one topic (`-d ECC`) or what grep left of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from doctor.facts.model import Fact, Scalar
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
    r"^(?:ECC Errors|Remapped Rows|Fabric|Clocks (?:Throttle|Event) Reasons(?: Counters)?|(?:GPU "
    r"|Module )?Power Readings|Temperature|GPU Link Info"
    r"|PCIe Generation|Link Width|FB Memory Usage|Retired Pages|Max Clocks|Volatile|Aggregate|ECC Mode"
    r"|MIG Mode|Utilization)$"
)
# What only this listing prints: one is enough to know a fragment by.
_SURE = re.compile(
    r"NVSMI LOG|^GPU [0-9A-Fa-f]{8}:|^(?:ECC Errors|Remapped Rows|Clocks (?:Throttle|Event) Reasons"
    r"|FB Memory Usage|GPU Link Info)\s*$"
    r"|^(?:HW|SW) (?:Thermal |Power Brake )?Slowdown\s+:|^(?:DRAM|SRAM) (?:Unc|C)orrectable"
    r"|^Remapping Failure Occurred\s*:|^CliqueId\s*:|^Fabric (?:State|Status)\s*:"
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
    return any(a == "Fabric" and re.match(r"State\s+:", b) for a, b in pairwise(texts))


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
        reason = _REASONS.get(row.key.lower())
        if reason and row.value in ("Active", "Not Active") and "Counters" not in row.heading:
            reasons_line = reasons_line or row.line
            if row.value == "Active":
                reasons.append(reason)
                reasons_line = row.line
            continue
        found = _FIELDS.get((row.heading, row.key)) or _FIELDS.get(("*", row.key))
        value = found[1](row.value) if found else None
        if found and value is not None:
            yield section.fact(found[0], value, row.line, gpu)
    if reasons_line:
        yield section.fact("gpu.throttle_reasons", tuple(reasons), reasons_line, gpu)


def _flag(text: str) -> bool | None:
    word = text.split(maxsplit=1)[0].rstrip("*") if text else ""
    return {"Yes": True, "Enabled": True, "True": True, "No": False, "Disabled": False, "False": False}.get(word)


def _share(text: str) -> float | None:
    percent = number(text)
    return None if percent is None else percent / 100


def _clock(text: str) -> float | None:
    megahertz = number(text)
    return None if megahertz is None else megahertz * 1e6


def _text(text: str) -> str | None:
    return None if missing(text) else text


_POWER: Mapping[str, str] = {
    "Power Draw": "gpu.power",
    "Average Power Draw": "gpu.power",
    "Instantaneous Power Draw": "gpu.power",
    "Power Limit": "gpu.power_limit",
    "Current Power Limit": "gpu.power_limit",
    "Enforced Power Limit": "gpu.power_limit",
    "Default Power Limit": "gpu.power_limit_default",
}
_FIELDS: Mapping[tuple[str, str], tuple[str, Callable[[str], Scalar | None]]] = {
    **{
        (title, key): (name, number)
        for title in ("Power Readings", "GPU Power Readings")
        for key, name in _POWER.items()
    },
    ("*", "Product Name"): ("gpu.name", _text),
    ("*", "Performance State"): ("gpu.performance_state", _text),
    ("*", "Compute Mode"): ("gpu.compute_mode", _text),
    ("*", "GSP Firmware Version"): ("gpu.gsp_firmware", _text),
    ("*", "GPU Recovery Action"): ("gpu.recovery_action", _text),
    ("*", "GPU Current Temp"): ("gpu.temperature", number),
    ("*", "GPU Slowdown Temp"): ("gpu.temperature_slowdown", number),
    ("*", "Remapping Failure Occurred"): ("gpu.remap_failed", _flag),
    ("*", "Persistence Mode"): ("gpu.persistence", _flag),
    ("*", "Pending Page Blacklist"): ("gpu.retired_pending", _flag),
    ("Remapped Rows", "Correctable Error"): ("gpu.remap_correctable", integer),
    ("Remapped Rows", "Uncorrectable Error"): ("gpu.remap_uncorrectable", integer),
    ("Remapped Rows", "Pending"): ("gpu.remap_pending", _flag),
    ("MIG Mode", "Current"): ("gpu.mig", _flag),
    ("ECC Mode", "Current"): ("gpu.ecc_enabled", _flag),
    ("Double Bit ECC", "Retired Page Count"): ("gpu.retired_pages", integer),
    ("PCI", "Replays Since Reset"): ("gpu.pcie_replays", integer),
    ("GPU Link Info", "Replays Since Reset"): ("gpu.pcie_replays", integer),
    ("PCIe Generation", "Current"): ("gpu.pcie_gen", integer),
    ("PCIe Generation", "Max"): ("gpu.pcie_gen_max", integer),
    ("Link Width", "Current"): ("gpu.pcie_width", integer),
    ("Link Width", "Max"): ("gpu.pcie_width_max", integer),
    ("FB Memory Usage", "Total"): ("gpu.memory_total", size),
    ("FB Memory Usage", "Used"): ("gpu.memory_used", size),
    ("FB Memory Usage", "Free"): ("gpu.memory_free", size),
    ("Utilization", "Gpu"): ("gpu.utilization", _share),
    ("Utilization", "GPU"): ("gpu.utilization", _share),
    ("Clocks", "SM"): ("gpu.sm_clock", _clock),
    ("Max Clocks", "SM"): ("gpu.sm_clock_max", _clock),
    ("*", "Fabric State"): ("gpu.fabric_state", _text),
    ("*", "Fabric Status"): ("gpu.fabric_status", _text),
    ("Fabric", "State"): ("gpu.fabric_state", _text),
    ("Fabric", "Status"): ("gpu.fabric_status", _text),
    ("Fabric", "CliqueId"): ("gpu.fabric_clique", _text),
    ("Health", "Bandwidth"): ("gpu.fabric_bandwidth", _text),
    ("Health", "Summary"): ("gpu.fabric_health", _text),
    ("Health", "Route Unhealthy"): ("gpu.fabric_route_unhealthy", _flag),
    ("Health", "Incorrect Configuration"): ("gpu.fabric_configuration", _text),
    ("BAR1 Memory Usage", "Total"): ("gpu.bar1_total", size),
    ("*", "Reset Required"): ("gpu.reset_required", _flag),
    ("*", "SRAM Threshold Exceeded"): ("gpu.sram_threshold_exceeded", _flag),
}


def _errors(section: Block, rows: list[_Row], gpu: str) -> Iterator[Fact]:
    """Sums over DRAM and SRAM (parity and SEC-DED), or the single- and double-bit totals of old drivers."""
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
