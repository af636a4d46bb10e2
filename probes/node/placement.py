"""Who is near whom: the network cards of each GPU by PCIe, and the processors of each rank by its GPU's NUMA node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.facts.model import Fact
from probes.files.node_dump.values import cpu_list
from probes.node.interface import pci
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.processes import Rank, ranks_here

SPEC = ProbeSpec(
    "placement",
    "by PCIe the network card nearest to each GPU, and whether ranks run on the processors next to their GPU",
    (
        *("node.nic_topology", "gpu.nearest_nics", "gpu.numa_node", "rank.cpus_allowed", "rank.cpus_near_gpu"),
        "rank.gpu",
    ),
    privilege="the job's user or root",
)

NICS, NODES = "/sys/class/infiniband", "/sys/devices/system/node"


def probe(host: Host) -> Iterator[Fact]:
    try:
        gpus = pci.gpus(host) or pci.gpus(host, pci.AMD)
    except OSError as error:
        yield failed("gpu.numa_node", why(error), host.node, pci.DEVICES)
        return
    for index, gpu in enumerate(gpus):
        if gpu.numa >= 0:
            where = f"{pci.DEVICES}/{gpu.address}/numa_node"
            yield measured("gpu.numa_node", gpu.numa, host.gpu(index), where, str(gpu.numa), 1)
    yield from _cards(host, gpus)
    yield from _ranks(host, gpus)


def _cards(host: Host, gpus: Sequence[pci.Place]) -> Iterator[Fact]:
    """For each GPU the RDMA devices at the least distance; for the node the GPU that has it farthest."""
    try:
        nics = {name: pci.place(host, f"{NICS}/{name}/device") for name in host.names(NICS)}
    except OSError:
        return
    nearest: dict[int, str] = {}
    for index, gpu in enumerate(gpus):
        apart = {name: pci.distance(gpu, nic) for name, nic in nics.items()}
        told = [kind for kind in apart.values() if kind]
        if not told:
            continue
        best = nearest[index] = min(told, key=pci.FARTHEST.index)
        names = tuple(f"{name} {best}" for name, kind in apart.items() if kind == best)
        yield measured("gpu.nearest_nics", names, host.gpu(index), f"{pci.DEVICES}/{gpu.address}", ", ".join(names))
    if nearest:
        worst = max(nearest, key=lambda index: pci.FARTHEST.index(nearest[index]))
        text = f"GPU {worst} {gpus[worst].address}: {nearest[worst]}"
        yield measured("node.nic_topology", nearest[worst], host.node, pci.DEVICES, text)


def _ranks(host: Host, gpus: Sequence[pci.Place]) -> Iterator[Fact]:
    try:
        ranks = ranks_here(host)
    except OSError as error:
        yield failed("rank.cpus_allowed", why(error), host.node, "/proc")
        return
    near = {gpu.numa: _processors(host, gpu.numa) for gpu in gpus if gpu.numa >= 0}
    for rank in ranks.job:
        path = f"{rank.proc}/status"
        try:
            lines = host.text(path).splitlines()
        except OSError as error:
            yield failed("rank.cpus_allowed", why(error), rank.entity, path)
            continue
        place = next((n for n, line in enumerate(lines, 1) if line.startswith("Cpus_allowed_list:")), 0)
        if not place:
            continue
        allowed = cpu_list(lines[place - 1].partition(":")[2])
        yield measured("rank.cpus_allowed", len(allowed), rank.entity, path, lines[place - 1], place)
        index = gpu_of(rank, len(gpus))
        if index is None:
            continue
        yield measured("rank.gpu", index, rank.entity, f"{rank.proc}/environ", f"local rank {rank.local}")
        if own := near.get(gpus[index].numa):
            count = len(own.intersection(allowed))
            text = f"{lines[place - 1]} of {len(own)} on NUMA node {gpus[index].numa} of GPU {index}"
            yield measured("rank.cpus_near_gpu", count, rank.entity, path, text, place)


def _processors(host: Host, node: int) -> frozenset[int]:
    try:
        return frozenset(cpu_list(host.text(f"{NODES}/node{node}/cpulist")))
    except OSError:
        return frozenset()


def gpu_of(rank: Rank, count: int) -> int | None:
    """The GPU of a rank that takes the one of its local rank among those it sees, as launchers have it; None where
    that is not told, or where GPUs are named by more than their numbers."""
    if rank.local is None:
        return None
    told = next((rank.environ[n] for n in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if n in rank.environ), None)
    if told is None:
        return rank.local if rank.local < count else None
    seen = told.split(",")
    if not all(part.strip().isdecimal() and len(part) < 5 for part in seen):
        return None
    index = int(seen[0] if len(seen) == 1 else seen[rank.local] if rank.local < len(seen) else "9999")
    return index if index < count else None
