"""Comma-separated output of `nvidia-smi --query-gpu` and `--query-compute-apps`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import integer, missing, number, size

KIND = "nvidia-smi csv"
MARKS = (
    "memory.used",
    "memory.total",
    "memory.free",
    "utilization.gpu",
    "pci.bus_id",
    "used_gpu_memory",
    "used_memory",
    "ecc.errors",
    "clocks",
    "driver_version",
    "remapped_rows",
    "pcie.link",
    "power.draw",
    "temperature.gpu",
)

_COLUMN = re.compile(r"^[a-z_]+[a-z0-9_.]*(?: \[[\w%/]+\])?$")
_ASKED = re.compile(r"--query-(?:gpu|compute-apps)=(?P<fields>[\w.,]+)")
_TOO_MANY = 5000

_NUMBERS: dict[str, tuple[str, float]] = {
    "utilization.gpu": ("gpu.utilization", 0.01),
    "utilization.memory": ("gpu.memory_utilization", 0.01),
    "power.draw": ("gpu.power", 1),
    "power.draw.average": ("gpu.power", 1),
    "power.draw.instant": ("gpu.power", 1),
    "power.limit": ("gpu.power_limit", 1),
    "enforced.power.limit": ("gpu.power_limit", 1),
    "power.default_limit": ("gpu.power_limit_default", 1),
    "temperature.gpu": ("gpu.temperature", 1),
    "clocks.sm": ("gpu.sm_clock", 1e6),
    "clocks.current.sm": ("gpu.sm_clock", 1e6),
    "clocks.max.sm": ("gpu.sm_clock_max", 1e6),
}
_COUNTS = {
    "ecc.errors.uncorrected.volatile.total": "gpu.ecc_uncorrectable",
    "ecc.errors.corrected.volatile.total": "gpu.ecc_correctable",
    "ecc.errors.uncorrected.aggregate.total": "gpu.ecc_uncorrectable_aggregate",
    "ecc.errors.corrected.aggregate.total": "gpu.ecc_correctable_aggregate",
    "remapped_rows.uncorrectable": "gpu.remap_uncorrectable",
    "remapped_rows.correctable": "gpu.remap_correctable",
    "pcie.link.gen.current": "gpu.pcie_gen",
    "pcie.link.gen.gpucurrent": "gpu.pcie_gen",
    "pcie.link.gen.max": "gpu.pcie_gen_max",
    "pcie.link.gen.gpumax": "gpu.pcie_gen_max",
    "pcie.link.width.current": "gpu.pcie_width",
    "pcie.link.width.max": "gpu.pcie_width_max",
    "retired_pages.double_bit.count": "gpu.retired_pages",
}
_SIZES = {"memory.used": "gpu.memory_used", "memory.total": "gpu.memory_total", "memory.free": "gpu.memory_free"}
_FLAGS = {
    "remapped_rows.pending": "gpu.remap_pending",
    "remapped_rows.failure": "gpu.remap_failed",
    "mig.mode.current": "gpu.mig",
    "persistence_mode": "gpu.persistence",
    "ecc.mode.current": "gpu.ecc_enabled",
    "retired_pages.pending": "gpu.retired_pending",
}
_TEXTS = {
    "name": "gpu.name",
    "gpu_name": "gpu.name",
    "pstate": "gpu.performance_state",
    "compute_mode": "gpu.compute_mode",
    "fabric.state": "gpu.fabric_state",
    "fabric.status": "gpu.fabric_status",
    "pci.bus_id": "gpu.bus_id",
    "gpu_bus_id": "gpu.bus_id",
    "gpu_recovery_action": "gpu.recovery_action",
}
_REASON = re.compile(r"^clocks_(?:throttle|event)_reasons\.(?P<reason>\w+)$")
_REASON_NAMES = {
    "gpu_idle": "idle",
    "hw_power_brake_slowdown": "hw_power_brake",
    "applications_clocks_setting": "applications_clocks",
}
_REASON_BITS = {
    1: "idle", 2: "applications_clocks", 4: "sw_power_cap", 8: "hw_slowdown", 0x10: "sync_boost",
    0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake", 0x100: "display_clocks",
}  # fmt: skip


def recognise(block: Block) -> list[Block]:
    """From a heading of known columns over the rows that have as many cells."""
    found: list[list[Line]] = []
    width = 0
    if asked := _ASKED.search(block.command) if "noheader" in block.command else None:
        fields = [field + " [MiB]" * field.startswith("memory.") for field in asked["fields"].split(",")]
        found.append([Line(0, ", ".join(fields), block.command)])
        width = len(fields)
    for line in block.lines:
        cells = _cells(line.text)
        if (
            len(cells) > 1
            and all(_COLUMN.match(cell) for cell in cells)
            and any(_base(cell) in _KNOWN for cell in cells)
        ):
            found.append([line])
            width = len(cells)
        elif width and len(cells) == width and len(found[-1]) < _TOO_MANY:
            found[-1].append(line)
        elif line.text.strip():
            width = 0
    return [block.part(lines) for lines in found if len(lines) > 1]


_KNOWN = {*_NUMBERS, *_COUNTS, *_SIZES, *_FLAGS, "used_gpu_memory", "used_memory", "pid", "driver_version"} | {
    "clocks_throttle_reasons.active",
    "clocks_event_reasons.active",
}


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.split(",")]


def _base(column: str) -> str:
    return column.split(" [")[0]


def read(section: Block) -> Iterator[Fact]:
    columns = [_base(cell) for cell in _cells(section.lines[0].text)]
    units = [cell.partition("[")[2].rstrip("]") for cell in _cells(section.lines[0].text)]
    if "pid" in columns:
        yield from _processes(section, columns)
        return
    samples: dict[str, tuple[Line, dict[str, str]]] = {}
    for order, line in enumerate(section.lines[1:]):
        cells = [
            c + u if u.endswith("iB") and c.isdigit() else c for c, u in zip(_cells(line.text), units, strict=False)
        ]
        row = dict(zip(columns, cells, strict=False))
        key = row.get("index") or row.get("pci.bus_id", "").lower() or row.get("uuid") or str(order)
        # A loop (-l) prints a GPU many times: the busiest sample is the one taken while the job ran.
        if key not in samples or _busy(row) > _busy(samples[key][1]):
            samples[key] = (line, row)
    yield section.fact("node.gpu_count", len(samples), next(iter(samples.values()))[0])
    for key, (line, row) in samples.items():
        yield from _gpu(section, line, row, section.gpu(key))


def _busy(row: dict[str, str]) -> tuple[float, float]:
    return number(row.get("memory.used", "")) or 0.0, number(row.get("utilization.gpu", "")) or 0.0


def _gpu(section: Block, line: Line, row: dict[str, str], gpu: str) -> Iterator[Fact]:
    reasons: list[str] = []
    asked = False
    for column, text in row.items():
        if text in ("[Unknown Error]", "[GPU is lost]", "ERR!"):
            yield section.fact("gpu.unreadable", text, line, gpu)
        elif missing(text):
            continue
        elif column in _NUMBERS:
            name, scale = _NUMBERS[column]
            if (value := number(text)) is not None:
                yield section.fact(name, value * scale, line, gpu)
        elif column in _COUNTS:
            if (count := integer(text)) is not None:
                yield section.fact(_COUNTS[column], count, line, gpu)
        elif column in _SIZES:
            if (amount := size(text)) is not None:
                yield section.fact(_SIZES[column], amount, line, gpu)
        elif column in _FLAGS:
            yield section.fact(_FLAGS[column], text in ("Yes", "Enabled", "1"), line, gpu)
        elif column in _TEXTS:
            yield section.fact(_TEXTS[column], text.lower() if column.endswith("bus_id") else text, line, gpu)
        elif column == "driver_version":
            yield section.fact("node.driver_version", text, line)
        elif match := _REASON.match(column):
            asked = True
            reasons += _reasons(match["reason"], text)
    if asked:
        yield section.fact("gpu.throttle_reasons", tuple(dict.fromkeys(reasons)), line, gpu)


def _reasons(reason: str, text: str) -> list[str]:
    if reason == "active":
        try:
            bits = int(text, 16)
        except ValueError:
            return []
        return [name for bit, name in _REASON_BITS.items() if bits & bit]
    return [_REASON_NAMES.get(reason, reason)] if text == "Active" else []


def _processes(section: Block, columns: list[str]) -> Iterator[Fact]:
    found: dict[str, list[tuple[int, str, Line]]] = {}
    for line in section.lines[1:]:
        row = dict(zip(columns, _cells(line.text), strict=False))
        pid = integer(row.get("pid", ""))
        if pid is None:
            continue
        key = row.get("gpu_bus_id", "").lower() or row.get("gpu_uuid") or row.get("gpu_serial") or "?"
        used = row.get("used_gpu_memory") or row.get("used_memory") or ""
        found.setdefault(key, []).append((pid, f"{pid} {row.get('process_name', '')} {used}".strip(), line))
    for key, rows in found.items():
        gpu = section.gpu(key)
        yield section.fact("gpu.process_pids", tuple(dict.fromkeys(pid for pid, _, _ in rows)), rows[0][2], gpu)
        yield section.fact("gpu.processes", tuple(text for _, text, _ in rows), rows[0][2], gpu)
