"""PCIe by sysfs: GPUs on the bus, links with fewer lanes than they can have, devices that are gone, ACS of bridges."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why

SPEC = ProbeSpec(
    "pcie",
    "/sys/bus/pci: NVIDIA GPUs, narrow links, devices that do not answer, access control (ACS) of bridges",
    (
        *("node.pci_gpu_count", "node.pci_links_narrow", "node.pci_devices_lost", "node.acs_redirect"),
        "node.acs_redirect_bridges",
    ),
    privilege="root for access control: others see 64 bytes of a device's configuration",
)

DEVICES = "/sys/bus/pci/devices"
NVIDIA = "0x10de"
BRIDGE, GPUS, WORTH = "0x0604", ("0x0300", "0x0302"), ("0x0300", "0x0302", "0x0200", "0x0207", "0x0108", "0x1200")
"""Classes of PCI: bridge, display, 3D, Ethernet, InfiniBand, NVMe, accelerator."""
PLAIN, HEAD = 256, 64
"""Bytes of configuration space without extended capabilities, and those that any user sees."""
ACS, CONTROL, REDIRECTS = 0x000D, 6, 0b1101
"""The capability, where its control word lies in it, and in that source validation, request and completion redirect
(PCI Express Base Specification, Access Control Services)."""


def probe(host: Host) -> Iterator[Fact]:
    try:
        addresses = host.names(DEVICES)
    except OSError as error:
        yield failed("node.pci_gpu_count", why(error), host.node, DEVICES)
        return
    devices = {address: _text(host, address, "class")[:6] for address in addresses}
    gpus = [a for a, kind in devices.items() if kind in GPUS and _text(host, a, "vendor") == NVIDIA]
    yield measured("node.pci_gpu_count", len(gpus), host.node, DEVICES, " ".join(gpus) or "no NVIDIA GPU on the bus")
    lost = tuple(a for a in addresses if _text(host, a, "revision") == "0xff")
    if lost:
        yield measured("node.pci_devices_lost", lost, host.node, f"{DEVICES}/{lost[0]}/revision", "0xff")
    narrow = [text for address, kind in devices.items() if kind in WORTH and (text := _narrow(host, address))]
    if narrow:
        yield measured("node.pci_links_narrow", tuple(narrow), host.node, DEVICES, narrow[0])
    yield from _access_control(host, [address for address, kind in devices.items() if kind == BRIDGE])


def _text(host: Host, address: str, name: str) -> str:
    try:
        return host.text(f"{DEVICES}/{address}/{name}", 4096)
    except OSError:
        return ""


def _narrow(host: Host, address: str) -> str:
    """`0000:1b:00.0 x8 of x16`, "" where the link is whole or tells nothing (0 and 255 are no widths)."""
    now, most = (_text(host, address, f"{name}_link_width") for name in ("current", "max"))
    if not (now.isdecimal() and most.isdecimal()) or not 0 < int(now) < int(most) < 255:
        return ""
    return f"{address} x{now} of x{most}"


def _access_control(host: Host, bridges: list[str]) -> Iterator[Fact]:
    """Unknown, not off, where the extended configuration space cannot be read."""
    active: list[str] = []
    known = 0
    for address in bridges:
        try:
            with host.path(f"{DEVICES}/{address}/config").open("rb") as file:
                data = file.read(4096)
        except OSError:
            continue
        if len(data) <= HEAD:
            reason = "configuration space past 64 bytes is for root alone"
            yield failed("node.acs_redirect", reason, host.node, f"{DEVICES}/{address}/config")
            return
        known += 1
        if _control(data) & REDIRECTS:
            active.append(address)
    if known:
        shown = " ".join(active) or f"off on {known} bridges"
        yield measured("node.acs_redirect", bool(active), host.node, DEVICES, shown)
        yield measured("node.acs_redirect_bridges", len(active), host.node, DEVICES, shown)


def _control(data: bytes) -> int:
    """The control word of ACS, 0 where the bridge has none: a chain of headers from byte 256 on."""
    place, seen = PLAIN, 0
    while PLAIN <= place <= len(data) - 8 and seen < 256:
        header = int.from_bytes(data[place : place + 4], "little")
        if header & 0xFFFF == ACS:
            return int.from_bytes(data[place + CONTROL : place + CONTROL + 2], "little")
        place, seen = header >> 20 & 0xFFC, seen + 1
    return 0
