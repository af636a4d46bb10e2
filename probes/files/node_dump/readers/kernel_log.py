"""The node in the kernel's log and on its command line: driver, kernel, IOMMU. Errors in it are events, not facts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "kernel log"
MARKS = ("NVRM: loading", "Linux version", "AMD-Vi", "DMAR", "iommu", "IOMMU", "BOOT_IMAGE", "Command line:", "Linux ")

_DRIVER = re.compile(
    r"NVRM: loading NVIDIA UNIX (?P<open>Open )?.*?Kernel Module\s+(?:for \S+\s+)?(?P<version>\d{3}\.\d+(?:\.\d+)?)"
)
_KERNEL = re.compile(
    r"(?:\]|^)\s*(?:kernel: )?Linux version (?P<version>\d+\.\d+\S*)"
    r"|^Linux (?P<host>[\w.-]+) (?P<uname>\d+\.\d+\.\S+) #\d+"
)
_CMDLINE = re.compile(r"(?:Kernel command line|Command line): (?P<line>.+)$|^(?P<plain>BOOT_IMAGE=\S+ .+)$")
_OPTION = re.compile(r"\b(?P<name>intel_iommu|amd_iommu|iommu|iommu\.passthrough)=(?P<value>[\w,.]+)")
_DOMAIN = re.compile(r"iommu: Default domain type: (?P<type>Translated|Passthrough|Unmanaged)", re.IGNORECASE)
_ACTIVE = re.compile(
    r"AMD-Vi: (?:Interrupt remapping enabled|Lazy IO/TLB|Virtual APIC enabled|AMD IOMMUv2 loaded"
    r"|Enabling IOMMU|Found IOMMU cap)"
    r"|AMD-Vi: (?:Event logged|IO_PAGE_FAULT)|IOMMU performance counters supported|AMD-Vi: Found IOMMU"
    r"|DMAR: (?:IOMMU enabled|Intel\(R\) Virtualization Technology for Directed I/O)|DMAR: \[DMA (?:Read"
    r"|Write)|DMAR: \[DMA-"
)
_OFF = re.compile(
    r"AMD-Vi: (?:IOMMU )?[Dd]isabled|DMAR: (?:IOMMU disabled|No ATSR|Disable)|iommu: Disabled|DMAR-IR: disabled",
    re.IGNORECASE,
)
_NEAR = re.compile(r"NVRM|Linux|ommand line|BOOT_IMAGE|AMD-Vi|DMAR|iommu|IOMMU")


def recognise(block: Block) -> list[Block]:
    patterns = (_DRIVER, _KERNEL, _CMDLINE, _DOMAIN, _ACTIVE, _OFF)
    near = [line for line in block.lines if _NEAR.search(line.text[:4000])]
    lines = [line for line in near if any(pattern.search(line.text[:4000]) for pattern in patterns)]
    if "/proc/cmdline" in block.command:
        lines = [line for line in block.lines if "=" in line.text]
    elif not lines and 0 < len(block.lines) <= 20:
        # A line of notes such as `kernel boots with intel_iommu=on`.
        lines = [line for line in block.lines if _OPTION.search(line.text)]
    return [block.part(lines)] if lines else []


def read(section: Block) -> Iterator[Fact]:
    option: tuple[str, Line] | None = None
    domain: tuple[str, Line] | None = None
    active: Line | None = None
    off: Line | None = None
    vendor = ""
    for line in section.lines:
        text = line.text[:4000]
        if match := _DRIVER.search(text):
            yield section.fact("node.driver_version", match["version"], line)
            yield section.fact("node.open_driver", bool(match["open"]), line)
        if match := _KERNEL.search(text):
            yield section.fact("node.kernel", match["version"] or match["uname"], line)
        if match := _CMDLINE.search(text):
            yield section.fact("node.kernel_cmdline", (match["line"] or match["plain"])[:2000], line)
        if (said := _by_options(text)) and option is None:
            option = (said, line)
        if match := _DOMAIN.search(text):
            domain = ("passthrough" if match["type"].lower() == "passthrough" else "on", line)
        if _OFF.search(text):
            off = off or line
        elif _ACTIVE.search(text):
            active = active or line
        if not vendor:
            vendor = (
                "amd"
                if "AMD-Vi" in text or "amd_iommu=" in text
                else "intel"
                if "DMAR" in text or "intel_iommu=" in text
                else ""
            )
    if (
        found := option
        or (domain if active else None)
        or (("on", active) if active else None)
        or (("off", off) if off else None)
    ):
        yield section.fact("node.iommu", found[0], found[1])
        if vendor:
            yield section.fact("node.iommu_vendor", vendor, found[1])


def _by_options(text: str) -> str:
    """What the kernel's options make of the IOMMU; iommu=pt leaves devices of the host untranslated."""
    options = {match["name"]: match["value"].lower() for match in _OPTION.finditer(text)}
    if not options:
        return ""
    if "off" in options.values():
        return "off"
    if options.get("iommu") == "pt" or options.get("iommu.passthrough") == "1":
        return "passthrough"
    return "on" if any(value.startswith(("on", "force")) for value in options.values()) else ""
