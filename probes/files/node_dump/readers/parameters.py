"""Parameters of the NVIDIA driver (/proc/driver/nvidia/params, version) and of the kernel (sysctl)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "parameters"
MARKS = (
    "EnableGpuFirmware",
    "NVreg_",
    "NVRM version:",
    "net.ipv4.",
    "net.core.",
    "kernel.",
    "vm.",
    "ip_local_port_range",
    "Kernel Module",
)

_FIRMWARE = re.compile(r"^\s*(?:options nvidia .*?)?(?:NVreg_)?EnableGpuFirmware\s*[:=]\s*(?P<value>\d{1,3})\b")
_MODPROBE = re.compile(r"^options nvidia .*\bNVreg_EnableGpuFirmware=(?P<value>\d{1,3})\b")
_VERSION = re.compile(
    r"^\s*NVRM version:\s+NVIDIA UNIX\s+(?P<open>Open )?.*?(?:Kernel Module)\s+(?:for \S+\s+)"
    r"?(?P<version>\d{3}\.\d+(?:\.\d+)?)"
)
_SYSCTL = re.compile(r"^\s*(?P<key>(?:net|kernel|vm)\.[\w./-]+)\s*=\s*(?P<value>\S.*?)\s*$")
_WHOLE = {"kernel.pid_max": "node.pid_max", "net.core.somaxconn": "node.somaxconn"}


def recognise(block: Block) -> list[Block]:
    lines = [line for line in block.lines if any(p.match(line.text) for p in (_FIRMWARE, _MODPROBE, _VERSION, _SYSCTL))]
    return [block.part(lines)] if lines else []


def read(section: Block) -> Iterator[Fact]:
    filters: list[tuple[int, Line]] = []
    for line in section.lines:
        if match := _FIRMWARE.match(line.text) or _MODPROBE.match(line.text):
            yield section.fact("node.gsp_firmware", _firmware(int(match["value"])), line)
        elif match := _VERSION.match(line.text):
            yield section.fact("node.driver_version", match["version"], line)
            yield section.fact("node.open_driver", bool(match["open"]), line)
        elif match := _SYSCTL.match(line.text):
            key, value = match["key"].replace("/", "."), match["value"]
            numbers = [int(text) for text in value.split() if re.fullmatch(r"-?\d{1,18}", text)]
            if not numbers:
                continue
            if key in _WHOLE:
                yield section.fact(_WHOLE[key], numbers[0], line)
            elif key == "net.ipv4.ip_local_port_range" and len(numbers) == 2:
                yield section.fact("node.local_ports", numbers[1] - numbers[0] + 1, line)
            elif key == "kernel.numa_balancing":
                yield section.fact("node.numa_balancing", numbers[0] != 0, line)
            elif key.startswith("net.ipv4.conf.") and key.endswith(".rp_filter"):
                filters.append((numbers[0], line))
    if filters:
        # 1 is strict, 2 is loose: the strictest is the one that drops packets.
        yield section.fact("node.rp_filter", *min(filters, key=lambda found: (found[0] == 0, found[0])))


def _firmware(value: int) -> str:
    """The low four bits are the mode: 0 off, 1 on, 2 as the driver decides (open kernel modules, nvrm_registry.h)."""
    return {0: "disabled", 1: "enabled", 2: "default"}.get(value & 0xF, str(value))
