"""Xid events of the GPUs while this looks, by NVML. What came before is in the kernel's log alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from probes.node.interface.host import Host
from probes.node.interface.model import Given, ProbeSpec, Text, failed, measured
from probes.node.interface.nvml import NoNvmlError, asked, nvml

SPEC = ProbeSpec(
    "gpu_events",
    "Xid errors that NVIDIA GPUs report while this looks, by NVML (--window SECONDS)",
    ("gpu.xid_events",),
    watches=True,
)

MOST = 1000
"""Events that are taken: a GPU in trouble may report hundreds of them a second."""


def probe(host: Host) -> Iterator[Given]:
    try:
        with nvml() as library:
            yield from _events(library, host, host.window)
    except NoNvmlError as error:
        yield failed("gpu.xid_events", str(error), host.node, "NVML")


def _events(library: Any, host: Host, seconds: float) -> Iterator[Given]:
    group = library.nvmlEventSetCreate()
    try:
        found = _registered(library, host, group)
        if not found:
            yield failed("gpu.xid_events", "no GPU here reports events to NVML", host.node, "nvmlDeviceRegisterEvents")
            return
        seen: dict[str, list[int]] = {}
        for bus, code in _waited(library, group, seconds):
            seen.setdefault(bus, []).append(code)
    finally:
        library.nvmlEventSetFree(group)
    for bus, index in found.items():
        codes = seen.get(bus, [])
        shown = f"Xid {' '.join(map(str, codes[:20]))}" if codes else f"no event within {seconds:g} s"
        yield measured("gpu.xid_events", tuple(dict.fromkeys(codes)), host.gpu(index), "nvmlEventSetWait", shown)
    lines = [f"XID {code} detected on GPU PCI:{bus}" for bus, codes in seen.items() for code in codes]
    if lines:
        yield Text("NVML events", "\n".join(lines) + "\n", host.name)


def _registered(library: Any, host: Host, group: Any) -> dict[str, int]:
    """The GPUs that report their Xids, as the index by the bus address. One that is lost is the GPU probe's to say."""
    found: dict[str, int] = {}
    for index in range(library.nvmlDeviceGetCount()):
        try:
            device = library.nvmlDeviceGetHandleByIndex(index)
            library.nvmlDeviceRegisterEvents(device, library.nvmlEventTypeXidCriticalError, group)
            found[_bus(library, device)] = index
        except library.NVMLError:
            continue
    return found


def _bus(library: Any, device: Any) -> str:
    info = asked(library, lambda: library.nvmlDeviceGetPciInfo(device))
    bus = info.busId if info is not None else b""
    return (bus.decode() if isinstance(bus, bytes) else str(bus)).lower()


def _waited(library: Any, group: Any, seconds: float) -> Iterator[tuple[str, int]]:
    """Bus address and code of each event until the time is over."""
    end = time.monotonic() + seconds
    for _ in range(MOST):
        left = end - time.monotonic()
        try:
            event = library.nvmlEventSetWait_v2(group, max(int(left * 1000), 0))
        except library.NVMLError:
            return
        if event.eventType == library.nvmlEventTypeXidCriticalError:
            yield _bus(library, event.device), int(event.eventData)
        if left <= 0:
            return
