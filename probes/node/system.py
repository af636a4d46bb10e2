"""The kernel and what it makes of the machine: modules, IOMMU, memory, huge pages, processors, NUMA, governor."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.values import cpu_list
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.pasted import as_pasted

SPEC = ProbeSpec(
    "system",
    "kernel, modules (GPUDirect RDMA), parameters, IOMMU, memory and huge pages, processors, NUMA, governor, IMEX",
    (
        *("node.kernel", "node.kernel_cmdline", "node.modules", "node.peermem_loaded", "node.iommu", "node.load"),
        *("node.memory_total", "node.memory_available", "node.swap_total", "node.swap_used", "node.cpus"),
        *("node.cpu_governor", "node.numa_nodes", "node.numa_nodes_without_cpus", "node.numa_balancing"),
        *("node.huge_pages", "node.huge_pages_free", "node.transparent_huge_pages", "node.imex_channels"),
        *("node.local_ports", "node.rp_filter", "node.pid_max", "node.somaxconn", "node.gsp_firmware"),
    ),
)

MODULES, CPUS, NODES = "/sys/module", "/sys/devices/system/cpu", "/sys/devices/system/node"
WORTH = re.compile(r"nvidia\w*|nv_peer_mem|gdrdrv|mlx\w+|ib_\w+|rdma_\w+|efa|nouveau|amdgpu|irdma|bnxt_re|xpmem")
PEER = ("nvidia_peermem", "nv_peer_mem")
GROUPS = "/sys/kernel/iommu_groups"
TRANSPARENT, CHANNELS = "/sys/kernel/mm/transparent_hugepage/enabled", "/dev/nvidia-caps-imex-channels"
SETTINGS = (
    *("kernel/numa_balancing", "kernel/pid_max", "net/core/somaxconn", "net/ipv4/ip_local_port_range"),
    *("net/ipv4/conf/all/rp_filter", "net/ipv4/conf/default/rp_filter"),
)
PASTED = ("/proc/driver/nvidia/version", "/proc/driver/nvidia/params", "/proc/cmdline")
MEMORY = {
    "MemTotal": "node.memory_total",
    "MemFree": "node.memory_free",
    "MemAvailable": "node.memory_available",
    "Shmem": "node.memory_shared",
    "SwapTotal": "node.swap_total",
}


def probe(host: Host) -> Iterator[Fact]:
    for part in (_kernel, _modules, _iommu, _memory, _huge_pages, _processors, _numa, _imex):
        try:
            yield from part(host)
        except OSError as error:
            yield failed(f"node.{part.__name__.strip('_')}", why(error), host.node, error.filename or "")


def _kernel(host: Host) -> Iterator[Fact]:
    release = host.text("/proc/sys/kernel/osrelease")
    yield measured("node.kernel", release, host.node, "/proc/sys/kernel/osrelease", release, 1)
    grouped = host.path(GROUPS).exists()
    for path in PASTED:
        if host.path(path).exists():
            found = as_pasted(host, f"cat {path}", host.text(path), path)
            # groups show what the kernel made of its options
            yield from (fact for fact in found if not fact.name.startswith("node.iommu") or not grouped)
    there = [name for name in SETTINGS if host.path(f"/proc/sys/{name}").exists()]
    lines = [f"{name.replace('/', '.')} = {host.text(f'/proc/sys/{name}')}" for name in there]
    yield from as_pasted(host, "sysctl -a", "\n".join(lines), "/proc/sys")


def _modules(host: Host) -> Iterator[Fact]:
    """Modules that are loaded or built in. GPUDirect RDMA may do without nvidia_peermem, by DMA-BUF."""
    names = host.names(MODULES)
    known = tuple(name for name in names if WORTH.fullmatch(name))
    if known:
        yield measured("node.modules", known, host.node, MODULES, " ".join(known))
    if "nvidia" in names:
        loaded = next((name for name in PEER if name in names), "")
        yield measured("node.peermem_loaded", bool(loaded), host.node, MODULES, loaded or "no nvidia_peermem")


def _iommu(host: Host) -> Iterator[Fact]:
    """What the groups say, which holds whatever the command line asks for; without groups it is off."""
    groups = GROUPS
    names = host.names(groups)
    if not names:
        yield measured("node.iommu", "off", host.node, groups, "no groups")
        return
    kinds = {host.text(f"{groups}/{name}/type") for name in names if host.path(f"{groups}/{name}/type").exists()}
    if kinds:
        state = "passthrough" if kinds == {"identity"} else "on"
        yield measured(
            "node.iommu", state, host.node, groups, f"{len(names)} groups of type {', '.join(sorted(kinds))}"
        )


def _memory(host: Host) -> Iterator[Fact]:
    path = "/proc/meminfo"
    free = {}
    for number, line in enumerate(host.text(path).splitlines(), 1):
        match = re.match(r"(?P<key>\w+):\s+(?P<count>\d+) kB", line)
        if match and match["key"] in MEMORY:
            yield measured(MEMORY[match["key"]], int(match["count"]) * 1024, host.node, path, line, number)
        if match and match["key"] in ("SwapTotal", "SwapFree"):
            free[match["key"]] = int(match["count"]) * 1024
    if len(free) == 2:
        yield measured("node.swap_used", free["SwapTotal"] - free["SwapFree"], host.node, path)


def _huge_pages(host: Host) -> Iterator[Fact]:
    """Reserved ones, and whether the kernel makes some by itself: the word in brackets is the one in force."""
    names = {"HugePages_Total": "node.huge_pages", "HugePages_Free": "node.huge_pages_free"}
    for number, line in enumerate(host.text("/proc/meminfo").splitlines(), 1):
        key, _, count = line.partition(":")
        if key in names and count.strip().isdecimal():
            yield measured(names[key], int(count), host.node, "/proc/meminfo", line, number)
    if host.path(TRANSPARENT).exists():
        line = host.text(TRANSPARENT)
        if match := re.search(r"\[(\w+)\]", line):
            yield measured("node.transparent_huge_pages", match[1], host.node, TRANSPARENT, line, 1)


def _imex(host: Host) -> Iterator[Fact]:
    """Channels through which GPUs of several nodes share memory. Only a driver that knows of them makes the folder."""
    if host.path(CHANNELS).exists():
        names = host.names(CHANNELS)
        open_ = [name for name in names if os.access(host.path(f"{CHANNELS}/{name}"), os.R_OK | os.W_OK)]
        text = f"{len(open_)} of {len(names)} may be used"
        yield measured("node.imex_channels", len(open_), host.node, CHANNELS, text)


def _processors(host: Host) -> Iterator[Fact]:
    online = host.text(f"{CPUS}/online")
    numbers = cpu_list(online)
    yield measured("node.cpus", len(numbers), host.node, f"{CPUS}/online", online, 1)
    load = host.text("/proc/loadavg")
    yield measured("node.load", float(load.split()[0]), host.node, "/proc/loadavg", load, 1)
    places = [f"{CPUS}/cpu{number}/cpufreq/scaling_governor" for number in numbers]
    governors = {host.text(place): place for place in places if host.path(place).exists()}
    if governors:
        # one slow processor delays a step as all of them do
        shown = next((name for name in governors if name != "performance"), "performance")
        yield measured("node.cpu_governor", shown, host.node, governors[shown], shown, 1)


def _numa(host: Host) -> Iterator[Fact]:
    nodes = [name for name in host.names(NODES) if re.fullmatch(r"node\d+", name)]
    if nodes:
        bare = tuple(name[4:] for name in nodes if not host.text(f"{NODES}/{name}/cpulist"))
        yield measured("node.numa_nodes", len(nodes), host.node, NODES, " ".join(nodes))
        yield measured("node.numa_nodes_without_cpus", bare, host.node, NODES)
