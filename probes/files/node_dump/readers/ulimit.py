"""Resource limits: `ulimit -a`, single limits, prlimit and /proc/PID/limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import limit

KIND = "ulimit"
MARKS = (
    "ulimit",
    "max locked memory",
    "Max locked memory",
    "open files",
    "Max open files",
    "MEMLOCK",
    "NOFILE",
    "(kbytes, -l)",
    "locked-in-memory",
    "memlock",
)

_LIMIT = r"(?P<value>unlimited|-1|\d{1,20})"
_NAMES = {
    "l": ("node.memlock", 1024),
    "n": ("node.open_files", 1),
    "c": ("node.core_size", 1024),
    "u": ("node.max_processes", 1),
    "s": ("node.stack_size", 1024),
    "v": ("node.address_space", 1024),
}
_ALL = re.compile(rf"^\s*(?P<title>[a-z][a-z ,]{{3,40}}?)\s*\((?:[\w ]+, )?-(?P<letter>[a-zA-Z])\)\s+{_LIMIT}\s*$")
_ONE = re.compile(r"^ulimit -[HS]*(?P<letter>[lncusv])\b")
_INLINE = re.compile(rf"\bulimit -[HS]*(?P<letter>[lncusv])`?\s*(?::|=|->|=>|is|returns|prints|shows)?\s*{_LIMIT}\b")
_PROC = re.compile(
    rf"^Max (?P<title>locked memory|open files|core file size|processes|stack size|address space)\s+{_LIMIT}\s+\S+"
)
_PROC_NAMES = {
    "locked memory": "node.memlock",
    "open files": "node.open_files",
    "core file size": "node.core_size",
    "processes": "node.max_processes",
    "stack size": "node.stack_size",
    "address space": "node.address_space",
}
_PRLIMIT = re.compile(rf"^(?P<title>MEMLOCK|NOFILE|CORE|NPROC|STACK|AS)\s+[a-z][\w' -]+?\s+{_LIMIT}\s+\S+")
_PRLIMIT_NAMES = {
    "MEMLOCK": "node.memlock",
    "NOFILE": "node.open_files",
    "CORE": "node.core_size",
    "NPROC": "node.max_processes",
    "STACK": "node.stack_size",
    "AS": "node.address_space",
}
_ZSH = re.compile(rf"^-(?P<letter>[lncusv]): [a-z][\w ()-]+?\s+{_LIMIT}\s*$")


def recognise(block: Block) -> list[Block]:
    return [block] if next(_values(block), None) else []


def read(section: Block) -> Iterator[Fact]:
    for name, value, line in _values(section):
        yield section.fact(name, value, line)


def _values(block: Block) -> Iterator[tuple[str, int, Line]]:
    asked = _ONE.match(block.command)
    for line in block.lines:
        found: tuple[str, int, str] | None = None
        if match := _ALL.match(line.text) or _ZSH.match(line.text) or _INLINE.search(line.raw):
            if match["letter"] in _NAMES:
                found = (*_NAMES[match["letter"]], match["value"])
        elif match := _PROC.match(line.text):
            found = (_PROC_NAMES[match["title"]], 1, match["value"])
        elif match := _PRLIMIT.match(line.text):
            found = (_PRLIMIT_NAMES[match["title"]], 1, match["value"])
        elif asked and re.fullmatch(r"\s*(?:unlimited|\d{1,20})\s*", line.text):
            found = (*_NAMES[asked["letter"]], line.text)
            asked = None
        if found and (value := limit(found[2], found[1])) is not None:
            yield found[0], value, line
