"""PCI devices by sysfs: where they hang, and how far two of them are apart."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import takewhile

from probes.node.interface.host import Host

DEVICES = "/sys/bus/pci/devices"
NVIDIA, AMD = "0x10de", "0x1002"
GPUS = ("0x0300", "0x0302", "0x0380", "0x1200")
"""Classes of PCI that GPUs have: display, 3D, other display, processing accelerator."""
ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
FARTHEST = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""Distances in the words of `nvidia-smi topo`, near ones first."""
ONE_SWITCH = 2
"""Steps from a device up to the upstream port of the switch it hangs on."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device hangs: its address, the bridges above it from the root on, its NUMA node (-1 if not told)."""

    address: str
    path: tuple[str, ...]
    numa: int = -1


def gpus(host: Host, vendor: str = NVIDIA) -> list[Place]:
    """The GPUs of a vendor in the order of their address, which is that of NVML. OSError without PCI."""
    found = []
    for address in host.names(DEVICES):
        folder = f"{DEVICES}/{address}"
        try:
            kind = host.text(f"{folder}/class", 64)[:6]
            if kind in GPUS and host.text(f"{folder}/vendor", 64) == vendor:
                found.append(place(host, folder))
        except OSError:
            continue
    return sorted(found, key=lambda gpu: gpu.address)


def place(host: Host, link: str) -> Place:
    """Where the device behind the link `link` in sysfs hangs."""
    parts = os.path.realpath(host.path(link)).split("/")
    start = next((index for index, part in enumerate(parts) if ROOT.fullmatch(part)), len(parts) - 1)
    try:
        numa = int(host.text(f"{link}/numa_node", 64))
    except (OSError, ValueError):
        numa = -1
    return Place(parts[-1], tuple(parts[start:]), numa)


def distance(one: Place, other: Place) -> str:
    """`PIX` (one switch) to `SYS` (another socket), as `nvidia-smi topo -m` puts it; "" where nothing is told."""
    if not (ROOT.fullmatch(one.path[0]) and ROOT.fullmatch(other.path[0])):
        return ""
    pairs = zip(one.path[:-1], other.path[:-1], strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if shared > 1:
        steps = max(len(one.path), len(other.path)) - shared
        return "PIX" if steps <= ONE_SWITCH else "PXB"
    if shared == 1:
        return "PHB"
    if one.numa < 0 or other.numa < 0:
        return ""
    return "NODE" if one.numa == other.numa else "SYS"
