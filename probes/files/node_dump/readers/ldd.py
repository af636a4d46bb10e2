"""Which NCCL, libfabric and verbs libraries a program loads: ldd, ldconfig -p, /proc/PID/maps, find."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "ldd"
MARKS = ("libnccl", "libfabric", "libibverbs", "=> not found", "libefa", "librccl")

_LINKED = re.compile(r"^\s*(?P<name>lib[\w.+-]+\.so[\w.]*)\s+(?:\([^)]*\)\s+)?=>\s+(?P<path>/\S+|not found)")
_MAPPED = re.compile(r"^[0-9a-f]{6,16}-[0-9a-f]{6,16} \S{4} [0-9a-f]+ \S+ \d+\s+(?P<path>/\S+)$")
_PATH = re.compile(r"^\s*(?P<path>/\S+/lib(?:nccl|fabric|ibverbs|rccl)[\w.+-]*\.so[\w.]*)\s*$")
_OPEN = re.compile(r"^\S+\s+\d+\s+\S+\s+(?:mem|\d+\w?)\s+REG\s.*\s(?P<path>/\S+\.so[\w.]*)$")
_KINDS = (
    (re.compile(r"/lib(?:nccl|rccl)-(?:net|tuner|profiler|env|gin)[\w.-]*\.so"), "node.net_plugins"),
    (re.compile(r"/lib(?:nccl|rccl)(?:_static)?\.so"), "node.nccl_libraries"),
    (re.compile(r"/libfabric\.so"), "node.libfabric_libraries"),
    (re.compile(r"/libibverbs\.so"), "node.ibverbs_libraries"),
)


def recognise(block: Block) -> list[Block]:
    listed = re.match(r"^(?:find|ls|locate|which)\b", block.command)
    rows = [
        line for line in block.lines if _path(line) and (not _PATH.match(line.text) or listed or len(block.lines) <= 50)
    ]
    return [block.part(rows)] if rows else []


def _path(line: Line) -> str:
    for pattern in (_LINKED, _MAPPED, _PATH, _OPEN):
        if match := pattern.match(line.text):
            return match["path"]
    return ""


def read(section: Block) -> Iterator[Fact]:
    found: dict[str, dict[str, Line]] = {}
    missing: dict[str, Line] = {}
    for line in section.lines:
        path = _path(line)
        if path == "not found":
            match = _LINKED.match(line.text)
            missing.setdefault(match["name"] if match else "?", line)
            continue
        plain = _without_dots(path)
        for pattern, name in _KINDS:
            if pattern.search(plain):
                found.setdefault(name, {}).setdefault(plain, line)
    for name, paths in found.items():
        yield section.fact(name, tuple(paths), next(iter(paths.values())))
    if missing:
        yield section.fact("node.libraries_missing", tuple(missing), next(iter(missing.values())))


def _without_dots(path: str) -> str:
    """`/a/b/../c` as `/a/c`, so that one library is not taken for two."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1]:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
