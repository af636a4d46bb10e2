"""How the GPUs of the node reach each other: NVLinks and distance between pairs, and peer access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from doctor.facts.model import Fact
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured
from probes.node.interface.nvml import NoNvmlError, asked, nvml

SPEC = ProbeSpec(
    "gpu_topology",
    "distance between the GPUs (NVLink, PCIe, sockets) and peer access, by NVML",
    (
        *("node.topology", "node.topology_best", "node.nvlink_count", "node.nvlink_pairs", "node.p2p_status"),
        "node.p2p_unsupported_pairs",
    ),
    seconds=2.5,
)

NEAR = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
PEER = {0: "OK", 1: "CNS", 2: "GNS", 3: "TNS", 4: "DR", 5: "NS"}
"""nvmlGpuTopologyLevel_t and nvmlGpuP2PStatus_t in the words of `nvidia-smi topo`."""
SWITCH = 2
FARTHEST = ("PIX", "PXB", "PHB", "NODE", "SYS")


def probe(host: Host) -> Iterator[Fact]:
    try:
        with nvml() as library:
            yield from _pairs(library, host)
    except NoNvmlError as error:
        yield failed("node.topology", str(error), host.node, "NVML")


def _pairs(library: Any, host: Host) -> Iterator[Fact]:
    devices = [_handle(library, index) for index in range(library.nvmlDeviceGetCount())]
    gpus = [(index, device) for index, device in enumerate(devices) if device is not None]
    links = {index: _links(library, device) for index, device in gpus}
    cells: list[tuple[str, str]] = []
    peers: list[tuple[str, str]] = []
    for (a, one), (b, other) in combinations(gpus, 2):
        pair = f"GPU{a} GPU{b}"
        if cell := _between(library, one, other, links[a], links[b]):
            cells.append((cell, pair))
        status = _told(library, lambda one=one, other=other: library.nvmlDeviceGetP2PStatus(one, other, 0))
        if status in PEER:
            peers.append((PEER[status], pair))
    if cells:
        yield from _topology(host, cells)
    if peers:
        bad = [found for found in peers if found[0] != "OK"]
        status, pair = (bad or peers)[0]
        yield measured("node.p2p_status", status, host.node, "nvmlDeviceGetP2PStatus", f"{pair} {status}")
        yield measured("node.p2p_unsupported_pairs", len(bad), host.node, "nvmlDeviceGetP2PStatus", f"{pair} {status}")


def _told(library: Any, call: Any) -> Any:
    """As `asked`, and nothing of a GPU that is lost: that is the GPU probe's to say."""
    try:
        return asked(library, call)
    except library.NVMLError:
        return None


def _handle(library: Any, index: int) -> Any:
    """The GPU, None if it does not answer: a lost one would look like one that is far away."""
    device = _told(library, lambda: library.nvmlDeviceGetHandleByIndex(index))
    answers = device is not None and _told(
        library, lambda: library.nvmlDeviceGetMemoryInfo(device, library.nvmlMemory_v2)
    )
    return device if answers else None


def _links(library: Any, device: Any) -> tuple[int, dict[str, int]]:
    """NVLinks that are up: those to a switch, which reach every GPU on it, and those to each GPU by its bus address."""
    switched, direct = 0, dict[str, int]()
    for link in range(library.NVML_NVLINK_MAX_LINKS):
        up = _told(library, lambda link=link: library.nvmlDeviceGetNvLinkState(device, link))
        if up is None:
            break
        if not up:
            continue
        kind = _told(library, lambda link=link: library.nvmlDeviceGetNvLinkRemoteDeviceType(device, link))
        if kind == SWITCH:
            switched += 1
            continue
        remote = _told(library, lambda link=link: library.nvmlDeviceGetNvLinkRemotePciInfo(device, link))
        if remote is not None:
            direct[_bus(remote)] = direct.get(_bus(remote), 0) + 1
    return switched, direct


def _bus(info: Any) -> str:
    return (info.busId.decode() if isinstance(info.busId, bytes) else str(info.busId)).lower()


def _between(library: Any, one: Any, other: Any, a: tuple[int, dict[str, int]], b: tuple[int, dict[str, int]]) -> str:
    """`NV18`, else how far apart the two are on PCIe; "" where that is not told."""
    info = _told(library, lambda: library.nvmlDeviceGetPciInfo(other))
    count = min(a[0], b[0]) + (a[1].get(_bus(info), 0) if info is not None else 0)
    if count:
        return f"NV{count}"
    return NEAR.get(_told(library, lambda: library.nvmlDeviceGetTopologyCommonAncestor(one, other)), "")


def _topology(host: Host, cells: Sequence[tuple[str, str]]) -> Iterator[Fact]:
    worst, best = max(cells, key=_distance), min(cells, key=_distance)
    counts = [int(cell[2:]) if cell.startswith("NV") else 0 for cell, _ in cells]
    for name, (cell, pair) in (("node.topology", worst), ("node.topology_best", best)):
        yield measured(name, cell, host.node, "NVML", f"{pair} {cell}")
    yield measured("node.nvlink_count", min(counts), host.node, "NVML", f"{worst[1]} {worst[0]}")
    yield measured("node.nvlink_pairs", sum(count > 0 for count in counts), host.node, "NVML")


def _distance(cell: tuple[str, str]) -> int:
    """Grows with the distance; more NVLinks are nearer."""
    return -int(cell[0][2:]) if cell[0].startswith("NV") else 1 + FARTHEST.index(cell[0])
