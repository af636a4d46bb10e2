"""Who uses the processors: top, ps, and the CPUs that processes may use (taskset, /proc/PID/status, cpusets)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import cpu_list, number, size

KIND = "top"
MARKS = ("load average", "%Cpu", "%CPU", "affinity", "Cpus_allowed", "cpuset", "PSR")

_LOAD = re.compile(r"load averages?:\s*(?P<one>[\d.]+)")
_CPU = re.compile(
    r"^%Cpu(?P<index>\d+)\s*:\s*(?:\S*/\S*\s+)?(?P<user>[\d.]+)\s*us,\s*(?P<system>[\d.]+)\s*sy,.*?(?P<idle>[\d.]+)\s*id"
)
_AFFINITY = re.compile(
    r"pid (?P<pid>\d+)'s (?:current )?affinity (?P<kind>list|mask): (?P<cpus>[\da-f,-]+)", re.IGNORECASE
)
_ALLOWED = re.compile(r"^\s*Cpus_allowed_list:\s*(?P<cpus>[\d,-]+)")
_CPUSET = re.compile(r"cpuset\.cpus(?:\.effective)?\s*(?::|=|->)\s*(?P<cpus>[\d,-]+)")
_PYTHON = re.compile(r"sched_getaffinity.{0,40}?\{(?P<cpus>[\d, ]+)\}|^\s*affinity:?\s*\{(?P<more>[\d, ]+)\}")
_COUNTED = re.compile(r"len\(os\.sched_getaffinity\(\w*\)\)\s*(?::|=|==|->)\s*(?P<count>\d{1,5})\b")
_MAX_PROCESSES = 64
_BUSY = 90.0


def recognise(block: Block) -> list[Block]:
    heads = any(_columns(line) for line in block.lines)
    ours = any(
        pattern.search(line.raw)
        for line in block.lines
        for pattern in (_CPU, _AFFINITY, _ALLOWED, _CPUSET, _PYTHON, _COUNTED)
    )
    uptime = any(_LOAD.search(line.text) and re.search(r"\bup\b|^top -", line.text) for line in block.lines)
    return [block] if heads or ours or uptime else []


def _columns(line: Line) -> list[str]:
    words = line.text.split()
    return (
        words
        if "PID" in words and "%CPU" in words and ("COMMAND" in words or "CMD" in words or "COMM" in words)
        else []
    )


def read(section: Block) -> Iterator[Fact]:
    yield from _processors(section)
    yield from _processes(section)
    yield from _allowed(section)


def _processors(section: Block) -> Iterator[Fact]:
    rows = [(m, line) for line in section.lines if (m := _CPU.match(line.text))]
    if rows:
        busy = [(m, line) for m, line in rows if 100 - float(m["idle"]) >= _BUSY]
        line = busy[0][1] if busy else rows[0][1]
        yield section.fact("node.cpus_busy", len({m["index"] for m, _ in busy}), line)
        yield section.fact("node.cpus_seen", len({m["index"] for m, _ in rows}), rows[0][1])
    for line in section.lines:
        if (match := _LOAD.search(line.text)) and re.search(r"\bup\b|^top -", line.text):
            yield section.fact("node.load", float(match["one"].rstrip(".")), line)
            return


def _processes(section: Block) -> Iterator[Fact]:
    columns: list[str] = []
    found: list[tuple[float, str, Line]] = []
    states: dict[str, Line] = {}
    memory: list[tuple[int, Line]] = []
    for line in section.lines:
        if words := _columns(line):
            columns = words
            continue
        cells = line.text.split(None, len(columns) - 1) if columns else []
        if len(cells) < len(columns) or not columns:
            continue
        row = dict(zip(columns, cells, strict=False))
        percent = number(row["%CPU"])
        if not row["PID"].isdigit() or percent is None:
            continue
        name = row.get("COMMAND") or row.get("CMD") or row.get("COMM") or ""
        found.append((percent, f"{row['PID']} {name[:80]} {percent:g}%", line))
        if (row.get("S") or row.get("STAT") or "")[:1] == "D":
            states[row["PID"]] = line
        resident = row.get("RSS") or row.get("RES")
        if resident and (amount := size(resident, "K")) is not None:
            memory.append((amount, line))
    if found:
        found.sort(key=lambda row: -row[0])
        yield section.fact("node.process_cpu", tuple(text for _, text, _ in found[:_MAX_PROCESSES]), found[0][2])
    if states:
        yield section.fact("node.processes_in_disk_wait", tuple(states), next(iter(states.values())))
    if memory:
        yield section.fact("node.process_memory_max", *max(memory, key=lambda row: row[0]))


def _allowed(section: Block) -> Iterator[Fact]:
    """The fewest CPUs that a process of the dump may use."""
    found: list[tuple[int, str, Line]] = []
    for line in section.lines:
        if match := _AFFINITY.search(line.raw):
            count = (
                len(cpu_list(match["cpus"]))
                if match["kind"].lower() == "list"
                else bin(int(match["cpus"].replace(",", "")[:512], 16)).count("1")
            )
            found.append((count, f"{match['pid']}={match['cpus']}", line))
        elif match := _ALLOWED.match(line.text):
            found.append((len(cpu_list(match["cpus"])), match["cpus"], line))
        elif match := _PYTHON.search(line.raw):
            cpus = match["cpus"] or match["more"]
            found.append((len(cpu_list(cpus.replace(" ", ""))), cpus.replace(" ", ""), line))
        elif match := _COUNTED.search(line.raw):
            found.append((int(match["count"]), f"{match['count']} CPUs", line))
        elif match := _CPUSET.search(line.raw):
            yield section.fact("node.cpuset", match["cpus"], line)
            yield section.fact("node.cpuset_count", len(cpu_list(match["cpus"])), line)
    found = [row for row in found if row[0]]
    if found:
        count, _, line = min(found, key=lambda row: row[0])
        yield section.fact("node.cpus_allowed", count, line)
        yield section.fact("node.process_affinity", tuple(text for _, text, _ in found[:_MAX_PROCESSES]), line)
