"""`lspci -vvv`: access control (ACS) of bridges and the width and speed of PCIe links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "lspci"
MARKS = (
    "ACSCtl",
    "LnkSta",
    "LnkCap",
    "PCI bridge",
    "3D controller",
    "VGA compatible controller",
    "Access Control Services",
)

_DEVICE = re.compile(
    r"^(?P<address>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+(?P<kind>[^:]{3,60}?)"
    r"(?: \[[0-9a-f]{4}\])?: (?P<name>.+)$"
)
_ACS = re.compile(
    r"ACSCtl:\s*SrcValid(?P<valid>[+-])(?:.*?ReqRedir(?P<request>[+-]))?(?:.*?CmpltRedir(?P<completion>[+-]))?"
)
_CAP = re.compile(r"LnkCap:.*?Speed (?P<speed>[\d.]+)\s?GT/s.*?Width x(?P<width>\d+)")
_STATUS = re.compile(r"LnkSta:.*?Speed (?P<speed>[\d.]+)\s?GT/s.*?Width x(?P<width>\d+)")
_WORTH = re.compile(
    r"3D controller|VGA compatible|Infiniband|Ethernet|Network controller|Non-Volatile|Processing accelerators"
)


@dataclass(slots=True)
class _Device:
    address: str = ""
    kind: str = ""
    name: str = ""
    lines: list[Line] = field(default_factory=list)


def recognise(block: Block) -> list[Block]:
    hits = sum(
        1 for line in block.lines if _ACS.search(line.text) or _CAP.search(line.text) or _DEVICE.match(line.text)
    )
    return [block] if hits else []


def read(section: Block) -> Iterator[Fact]:
    devices = [_Device()]
    for line in section.lines:
        if match := _DEVICE.match(line.text):
            devices.append(_Device(match["address"], match["kind"], match["name"]))
        devices[-1].lines.append(line)
    yield from _access_control(section)
    yield from _links(section, devices)
    gpus = [d for d in devices if "NVIDIA" in d.name and re.search(r"3D controller|VGA compatible", d.kind)]
    if gpus:
        yield section.fact("node.pci_gpu_count", len(gpus), gpus[0].lines[0])
    lost = [d for d in devices if "(rev ff)" in d.name]
    if lost:
        yield section.fact("node.pci_devices_lost", tuple(d.address for d in lost), lost[0].lines[0])


def _access_control(section: Block) -> Iterator[Fact]:
    """SrcValid+ or ReqRedir+ sends peer traffic up to the root complex (NCCL documentation, troubleshooting: ACS)."""
    controls = [(m, line) for line in section.lines if (m := _ACS.search(line.text))]
    if not controls:
        return
    active = [(m, line) for m, line in controls if "+" in (m["valid"], m["request"], m["completion"])]
    line = active[0][1] if active else controls[0][1]
    yield section.fact("node.acs_redirect", bool(active), line)
    yield section.fact("node.acs_redirect_bridges", len(active), line)


def _links(section: Block, devices: list[_Device]) -> Iterator[Fact]:
    """GPUs, NICs and disks with fewer lanes than they can have; speed is left out, idle links slow down by design."""
    narrow: list[str] = []
    first: Line | None = None
    for device in devices:
        if not _WORTH.search(device.kind):
            continue
        cap = next((m for line in device.lines if (m := _CAP.search(line.text))), None)
        found = next(((m, line) for line in device.lines if (m := _STATUS.search(line.text))), None)
        if cap and found and int(found[0]["width"]) < int(cap["width"]):
            status, line = found
            first = first or line
            narrow.append(f"{device.address} x{status['width']} of x{cap['width']}")
    if first:
        yield section.fact("node.pci_links_narrow", tuple(narrow), first)
