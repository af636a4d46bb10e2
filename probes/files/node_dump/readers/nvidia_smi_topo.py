"""Matrices of `nvidia-smi topo`: -m (kind of link between GPUs and NICs) and -p2p (whether peers may copy)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "nvidia-smi topo"
MARKS = ("GPU0", "GPU1", "GPU2")

ORDER = ("PIX", "PXB", "PHB", "NODE", "SOC", "SYS")
"""Links from near to far; NV# is nearer than all. SOC is what old drivers call SYS."""

_DEVICE = re.compile(
    r"^(?:GPU\d{1,3}|NIC\d{1,3}|mlx\d_\d{1,3}|hfi\d_\d|bnxt_re\d{1,2}|efa_\d{1,2}|rdma\w+|ibp\w+|roceP?\w+)$"
)
_LINK = re.compile(r"^(?:X|NV\d{1,3}|PIX|PXB|PHB|NODE|SYS|SOC|PSB|N/A)$")
_P2P = re.compile(r"^(?:X|OK|CNS|GNS|TNS|NS|DR|U)$")
_NOTE = re.compile(
    r"\bGPU ?(?P<a>\d{1,2})\s*(?:<-+>|<=+>|->|--?|and|to|/|,)\s*GPU ?(?P<b>\d{1,2})\b[\s:=]{1,4}(?:via |is |are )?"
    r"(?P<link>NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC)\b"
)
_LEGEND = re.compile(r"^\s*(?P<nic>NIC\d{1,3}):\s*(?P<device>\S+)\s*$")


def recognise(block: Block) -> list[Block]:
    """One section a matrix: from its heading, the line of device names, to the last row."""
    found: list[list[Line]] = []
    for line in block.lines:
        words = line.text.split()
        if _is_heading(words):
            found.append([line])
        elif found and words and (_is_row(words) or _LEGEND.match(line.text)):
            found[-1].append(line)
    matrices = [block.part(lines) for lines in found if len(lines) > 1]
    notes = [line for line in block.lines if _NOTE.search(line.text)]
    return matrices or ([block.part(notes)] if notes else [])


def _is_heading(words: list[str]) -> bool:
    return bool(words) and words[0] in ("GPU0", "GPU1") and (len(words) == 1 or not _is_cell(words[1]))


def _is_row(words: list[str]) -> bool:
    return len(words) > 1 and bool(_DEVICE.match(words[0])) and _is_cell(words[1])


def _is_cell(word: str) -> bool:
    return bool(_LINK.match(word) or _P2P.match(word))


def read(section: Block) -> Iterator[Fact]:
    heading = section.lines[0]
    if notes := [(line, match["link"]) for line in section.lines for match in _NOTE.finditer(line.text)]:
        yield from _links(section, notes)
        return
    columns = _columns(heading.text.split())
    rows = {
        w[0]: (line, dict(zip(columns, w[1:], strict=False)))
        for line in section.lines[1:]
        if _is_row(w := line.text.split())
    }
    pairs: dict[tuple[str, str], tuple[Line, str]] = {}
    for name, (line, cells) in rows.items():
        for other, cell in cells.items():
            if cell != "X" and _is_cell(cell):
                pairs.setdefault((min(name, other), max(name, other)), (line, cell))
    between = [found for (a, b), found in pairs.items() if a.startswith("GPU") and b.startswith("GPU")]
    if any(_P2P.match(cell) for _, cell in between):
        yield from _peers(section, between)
        return
    gpus = [name for name in columns if name.startswith("GPU")]
    if gpus and all(_DEVICE.match(name) for name in gpus):
        yield section.fact("node.gpu_count", len(gpus), heading)
    links = [(line, cell) for line, cell in between if cell != "N/A"]
    if links:
        yield from _links(section, links)
    yield from _nics(section, pairs)


def _columns(words: list[str]) -> list[str]:
    """Device names up to `CPU Affinity`."""
    return words[: words.index("CPU")] if "CPU" in words else words


def distance(link: str) -> float:
    """A number that grows with the distance a link kind stands for; more NVLinks are nearer."""
    if link.startswith("NV"):
        return -int(link[2:]) / 1000
    return 1.0 + ORDER.index(link) if link in ORDER else 0.5


def _links(section: Block, links: list[tuple[Line, str]]) -> Iterator[Fact]:
    worst = max(links, key=lambda found: distance(found[1]))
    best = min(links, key=lambda found: distance(found[1]))
    yield section.fact("node.topology", worst[1].replace("SOC", "SYS"), worst[0])
    yield section.fact("node.topology_best", best[1].replace("SOC", "SYS"), best[0])
    counts = [int(cell[2:]) if cell.startswith("NV") else 0 for _, cell in links]
    yield section.fact("node.nvlink_count", min(counts), worst[0])
    yield section.fact("node.nvlink_pairs", sum(1 for count in counts if count), worst[0])


def _nics(section: Block, pairs: dict[tuple[str, str], tuple[Line, str]]) -> Iterator[Fact]:
    """For each GPU its nearest NIC; the fact is the GPU that is served worst."""
    nearest: dict[str, tuple[Line, str]] = {}
    for (a, b), found in pairs.items():
        gpu, other = (a, b) if a.startswith("GPU") else (b, a)
        if gpu.startswith("GPU") and not other.startswith("GPU") and _DEVICE.match(other) and found[1] != "N/A":
            known = nearest.get(gpu)
            if known is None or distance(found[1]) < distance(known[1]):
                nearest[gpu] = found
    if nearest:
        line, link = max(nearest.values(), key=lambda found: distance(found[1]))
        yield section.fact("node.nic_topology", link, line)
    devices = [(line, m["device"]) for line in section.lines if (m := _LEGEND.match(line.text))]
    if devices:
        yield section.fact("node.ib_devices", tuple(device for _, device in devices), devices[0][0])


def _peers(section: Block, between: list[tuple[Line, str]]) -> Iterator[Fact]:
    bad = [(line, cell) for line, cell in between if cell != "OK"]
    line, cell = bad[0] if bad else between[0]
    yield section.fact("node.p2p_status", cell, line)
    yield section.fact("node.p2p_unsupported_pairs", len(bad), line)
