"""Memory of the host and of its cgroup: free, /proc/meminfo, memory.max."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import limit, size

KIND = "free"
MARKS = ("Mem:", "MemTotal", "memory.max", "memory.limit_in_bytes", "oom_kill", "MiB Mem", "KiB Mem", "Swap:")

_HEADING = re.compile(r"^\s+total\s+used\s+free\b(?P<rest>.*)$")
_ROW = re.compile(r"^\s*(?P<what>Mem|Swap):\s+(?P<numbers>\d[\d.]*[KMGTP]?i?B?(?:\s+\d[\d.]*[KMGTP]?i?B?)*)\s*$")
_PROC = re.compile(
    r"^\s*(?P<key>MemTotal|MemFree|MemAvailable|SwapTotal|SwapFree|Shmem|HugePages_Total"
    r"|Hugepagesize):\s+(?P<number>\d{1,18})(?: kB)?\s*$"
)
_TOP = re.compile(
    r"^(?P<unit>[KMG])iB Mem\s*:\s*(?P<total>[\d.]+)\+? total,\s*(?P<a>[\d.]+)\+? (?P<x>free"
    r"|used),\s*(?P<b>[\d.]+)\+? (?P<y>free|used)"
)
_CGROUP = re.compile(r"memory\.(?:max|limit_in_bytes)\s*(?::|=|->)?\s*(?P<value>max|\d{1,20})\s*$")
_KILLS = re.compile(r"^\s*(?:oom_kill|memory\.events.*oom_kill)\s+(?P<count>\d{1,12})\s*$")
_NAMES = {
    "MemTotal": "node.memory_total",
    "MemFree": "node.memory_free",
    "MemAvailable": "node.memory_available",
    "SwapTotal": "node.swap_total",
    "Shmem": "node.memory_shared",
}
_NO_LIMIT = 2**60


def recognise(block: Block) -> list[Block]:
    patterns = (_ROW, _PROC, _TOP, _KILLS)
    ours = any(pattern.match(line.text) for line in block.lines for pattern in patterns)
    cgroup = "memory.max" in block.command or any(_CGROUP.search(line.raw) for line in block.lines)
    return [block] if ours or cgroup else []


def read(section: Block) -> Iterator[Fact]:
    columns = ["total", "used", "free", "shared", "buff/cache", "available"]
    unit = next((letter.upper() for letter in "kmgt" if re.search(rf"free\s.*-\w*{letter}", section.command)), "K")
    if "-b" in section.command:
        unit = ""
    for line in section.lines:
        if match := _HEADING.match(line.text):
            columns = line.text.split()
        elif match := _ROW.match(line.text):
            yield from _free(section, line, match, columns, unit)
        elif match := _PROC.match(line.text):
            if name := _NAMES.get(match["key"]):
                yield section.fact(name, int(match["number"]) * 1024, line)
        elif match := _TOP.match(line.text):
            for name, text in (("total", match["total"]), (match["x"], match["a"]), (match["y"], match["b"])):
                yield section.fact(f"node.memory_{name}", size(text + match["unit"]) or 0, line)
        elif match := _KILLS.match(line.text):
            yield section.fact("node.cgroup_oom_kills", int(match["count"]), line)
        elif match := _CGROUP.search(line.raw):
            yield from _cgroup(section, line, match["value"])
        elif "memory.max" in section.command and re.fullmatch(r"max|\d{1,20}", line.text.strip()):
            yield from _cgroup(section, line, line.text.strip())


def _free(section: Block, line: Line, match: re.Match[str], columns: list[str], unit: str) -> Iterator[Fact]:
    kind = "memory" if match["what"] == "Mem" else "swap"
    for column, text in zip(columns, match["numbers"].split(), strict=False):
        amount = size(text, unit)
        if amount is not None and column in (
            ("total", "used", "free", "available") if kind == "memory" else ("total", "used")
        ):
            yield section.fact(f"node.{kind}_{column}", amount, line)


def _cgroup(section: Block, line: Line, text: str) -> Iterator[Fact]:
    value = limit("unlimited" if text == "max" else text)
    if value is not None and value < _NO_LIMIT:
        yield section.fact("node.cgroup_memory_limit", value, line)
