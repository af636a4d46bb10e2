"""NUMA nodes and processors: `numactl -H`, lscpu, nproc, and whether the host is a virtual machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import cpu_list

KIND = "numactl"
MARKS = (
    "node 0 cpus:",
    "available:",
    "NUMA node",
    "CPU(s):",
    "nproc",
    "Hypervisor vendor",
    "systemd-detect-virt",
    "Model name:",
    "physcpubind",
    "scaling_governor",
)

_AVAILABLE = re.compile(r"^\s*available: (?P<count>\d{1,4}) nodes? \((?P<nodes>[\d,-]+)\)")
_CPUS = re.compile(r"^\s*node (?P<node>\d{1,4}) cpus:(?P<cpus>[\s\d]*)$")
_SIZE = re.compile(r"^\s*node (?P<node>\d{1,4}) (?P<what>size|free): (?P<megabytes>\d{1,12}) MB")
_LSCPU = re.compile(
    r"^\s*(?P<key>CPU\(s\)|NUMA node\(s\)|Model name|Hypervisor vendor|Thread\(s\) per core|Socket\(s\)"
    r"|On-line CPU\(s\) list|Virtualization type):\s+(?P<value>\S.*)$"
)
_LSCPU_NODE = re.compile(r"^\s*NUMA node(?P<node>\d{1,4}) CPU\(s\):(?P<cpus>[\s\d,-]*)$")
_BIND = re.compile(r"^\s*(?P<key>physcpubind|cpubind|nodebind|membind):\s*(?P<values>[\d ]+)$")


def recognise(block: Block) -> list[Block]:
    patterns = (_AVAILABLE, _CPUS, _SIZE, _LSCPU_NODE, _BIND)
    ours = any(pattern.match(line.text) for line in block.lines for pattern in patterns)
    lscpu = sum(1 for line in block.lines if _LSCPU.match(line.text))
    asked = re.match(r"(?:nproc|systemd-detect-virt|cat .*scaling_governor)\b", block.command)
    return [block] if ours or lscpu >= 2 or (lscpu and block.command.startswith("lscpu")) or asked else []


def read(section: Block) -> Iterator[Fact]:
    without: list[tuple[int, Line]] = []
    nodes: dict[int, Line] = {}
    for line in section.lines:
        if match := _AVAILABLE.match(line.text):
            yield section.fact("node.numa_nodes", int(match["count"]), line)
        elif match := _CPUS.match(line.text) or _LSCPU_NODE.match(line.text):
            nodes[int(match["node"])] = line
            if not match["cpus"].strip():
                without.append((int(match["node"]), line))
        elif match := _LSCPU.match(line.text):
            yield from _lscpu(section, line, match["key"], match["value"].strip())
        elif (match := _BIND.match(line.text)) and match["key"] == "physcpubind":
            yield section.fact("node.cpus_allowed", len(cpu_list(match["values"])), line)
        else:
            yield from _answers(section, line)
    if nodes:
        line = without[0][1] if without else next(iter(nodes.values()))
        yield section.fact("node.numa_nodes_without_cpus", tuple(node for node, _ in without), line)


def _lscpu(section: Block, line: Line, key: str, value: str) -> Iterator[Fact]:
    if key == "CPU(s)" and value.isdigit():
        yield section.fact("node.cpus", int(value[:6]), line)
    elif key == "NUMA node(s)" and value.isdigit():
        yield section.fact("node.numa_nodes", int(value[:4]), line)
    elif key == "Model name":
        yield section.fact("node.cpu_model", value, line)
    elif key == "Hypervisor vendor":
        yield section.fact("node.hypervisor", value, line)


def _answers(section: Block, line: Line) -> Iterator[Fact]:
    text = line.text.strip()
    if section.command.startswith("nproc") and re.fullmatch(r"\d{1,5}", text):
        yield section.fact("node.cpus_allowed", int(text), line)
    elif section.command.startswith("systemd-detect-virt") and re.fullmatch(r"[a-z-]{2,20}", text):
        yield section.fact("node.hypervisor", text, line)
    elif section.command.endswith("scaling_governor") and re.fullmatch(r"[a-z]{4,20}", text):
        yield section.fact("node.cpu_governor", text, line)
