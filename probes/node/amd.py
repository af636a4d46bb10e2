"""AMD GPUs by amd-smi; where that is not there, by what the amdgpu driver shows in sysfs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from doctor.facts.model import Fact
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.pasted import as_pasted

SPEC = ProbeSpec(
    "amd",
    "AMD GPUs by `amd-smi`, else by /sys/class/drm: memory, errors of memory, xGMI, PCIe, throttling",
    (*("gpu.*", "node.gpu_count", "node.amdgpu_version", "node.amd_gpu_count", "node.p2p_unsupported_pairs"),),
    seconds=2.9,
)

CARDS, VENDOR = "/sys/class/drm", "0x1002"
COMMANDS = (("amd-smi", "static", "--json"), ("amd-smi", "metric", "--json"), ("amd-smi", "topology", "--json"))
SECONDS = 2.6
COUNTS = re.compile(r"^(?P<kind>ue|ce): (?P<count>\d{1,18})$", re.MULTILINE)
"""What a file of RAS holds: uncorrectable and corrected errors (Linux, gpu/amdgpu/ras)."""


def probe(host: Host) -> Iterator[Fact]:
    cards = _cards(host)
    yield measured("node.amd_gpu_count", len(cards), host.node, CARDS, " ".join(cards) or "no card of AMD")
    if not cards:
        return
    with ThreadPoolExecutor(len(COMMANDS)) as pool:
        answers = list(pool.map(lambda command: _asked(host, command), COMMANDS))
    found = [fact for facts in answers for fact in facts]
    yield from found
    if not any(fact.name == "gpu.memory_total" for fact in found):
        for index, card in enumerate(cards):
            yield from _by_sysfs(host, card, index)


def _cards(host: Host) -> list[str]:
    try:
        names = [name for name in host.names(CARDS) if re.fullmatch(r"card\d{1,3}", name)]
    except OSError:
        return []
    return [name for name in names if _text(host, f"{CARDS}/{name}/device/vendor") == VENDOR]


def _text(host: Host, path: str) -> str:
    try:
        return host.text(path, 4096)
    except OSError:
        return ""


def _asked(host: Host, command: tuple[str, ...]) -> list[Fact]:
    shown = " ".join(command)
    name = f"gpu.amd_{command[1]}"
    try:
        ran = host.run(command, SECONDS)
    except TimeoutError as error:
        return [failed(name, str(error), host.node, shown)]
    except OSError as error:
        return [failed(name, f"amd-smi: {why(error)}", host.node, shown)]
    facts = list(as_pasted(host, shown, ran.out))
    if not facts:
        reason = (ran.error.strip().splitlines() or [f"{shown} ended with {ran.status} and told nothing"])[-1][:200]
        return [failed(name, reason, host.node, shown)]
    return facts


def _by_sysfs(host: Host, card: str, index: int) -> Iterator[Fact]:
    """The files of amdgpu: memory, use, PCIe width, errors that RAS counted since the driver was loaded."""
    folder, gpu = f"{CARDS}/{card}/device", host.gpu(index)
    yield measured("gpu.vendor", "AMD", gpu, f"{folder}/vendor", VENDOR, 1)
    for file, name, scale in (
        ("mem_info_vram_total", "gpu.memory_total", 1),
        ("mem_info_vram_used", "gpu.memory_used", 1),
        ("current_link_width", "gpu.pcie_width", 1),
        ("max_link_width", "gpu.pcie_width_max", 1),
        ("gpu_busy_percent", "gpu.utilization", 0.01),
    ):
        text = _text(host, f"{folder}/{file}")
        if text.isdecimal() and len(text) < 19:
            yield measured(name, int(text) * scale, gpu, f"{folder}/{file}", text, 1)
    sums: dict[str, int] = {}
    try:
        blocks = [name for name in host.names(f"{folder}/ras") if name.endswith("_err_count")]
    except OSError:
        blocks = []
    for block in blocks:
        for match in COUNTS.finditer(_text(host, f"{folder}/ras/{block}")):
            sums[match["kind"]] = sums.get(match["kind"], 0) + int(match["count"])
    for kind, name in (("ue", "gpu.ecc_uncorrectable"), ("ce", "gpu.ecc_correctable")):
        if kind in sums:
            yield measured(name, sums[kind], gpu, f"{folder}/ras", f"{kind}: {sums[kind]} over {len(blocks)} blocks")
