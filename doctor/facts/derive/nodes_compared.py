"""The nodes of a job beside each other: what should be alike and is not, and which node is the odd one out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

OF_NODES = (
    *("node.driver_version", "node.cuda_driver", "node.open_driver", "node.gsp_firmware", "node.fabric_manager"),
    *("node.fabric_manager_version", "node.peermem_loaded", "node.gpu_count", "node.pci_gpu_count", "node.gpu_names"),
    *("node.kernel", "node.hypervisor", "node.iommu", "node.acs_redirect", "node.python", "node.default_interface"),
    *("node.memlock", "node.open_files", "node.max_processes", "node.stack_size", "node.rp_filter", "node.cpus"),
    *("node.cpu_model", "node.cpu_governor", "node.numa_balancing", "node.shm_total", "node.memory_total"),
)
OF_GPUS = (
    *("gpu.name", "gpu.power_limit", "gpu.pcie_width", "gpu.pcie_gen_max", "gpu.nvlinks_active", "gpu.ecc_enabled"),
    *("gpu.mig", "gpu.compute_mode", "gpu.persistence", "gpu.sm_clock_max", "gpu.gsp_firmware"),
)
OF_NICS = ("nic.rate", "nic.mtu", "nic.link_layer", "nic.type", "nic.firmware")
NEEDS = (*OF_NODES, *OF_GPUS, *OF_NICS, "env.*", "pip.*")
GIVES = ("node.odd", "job.node_differences")

ABOUT = {"node.shm_total": 0.05, "node.memory_total": 0.02}
"""Sizes that equal machines have but for this share: firmware and the kernel keep a little for themselves."""
PACKAGES = re.compile(
    r"pip\.(?:torch|nvidia_\w+|triton|flash_attn|transformer_engine|deepspeed|megatron_core|accelerate)$"
)
OWN = re.compile(
    r"env\.(?:RANK|(?:NODE|GROUP|LOCAL|ROLE)_\w*RANK|CUDA_VISIBLE_DEVICES|SLURM_\w+|TORCHELASTIC_\w+|OMPI_MCA_\w*"
    r"|NCCL_\w+|\w*(?:_FILE|_DIR|_PATH|TRACE_BUFFER\w*|_PIPE\w*)|HSA_\w+|ROCR_VISIBLE_DEVICES|LD_PRELOAD)$"
)
"""Variables that each node has to itself or that name its files, and those of NCCL, which have a rule of their own."""
UNSET = "not set"
MOST_LINES, MOST_NAMES, LONGEST = 40, 4, 120

Seen: TypeAlias = dict[str, dict[str, Fact]]
"""By what is compared, the fact that stands for each node."""


def derive(store: FactStore) -> Iterator[Fact]:
    compared = _seen(store)
    differences: list[tuple[str, list[Fact]]] = []
    odd: dict[str, list[tuple[str, Fact]]] = defaultdict(list)
    for name, facts in compared.items():
        groups = _groups(name, facts)
        if len(groups) < 2:
            continue
        differences.append((_table(name, groups), [facts[nodes[0]] for nodes in groups.values()]))
        most = max(groups, key=lambda value: len(groups[value]))
        if len(groups[most]) > len(facts) / 2 and len(facts) > 2:
            for value, nodes in groups.items():
                for node in nodes if value != most else ():
                    odd[node].append((f"{_plain(name)}: {value}; the others {most}", facts[node]))
    if len({node for facts in compared.values() for node in facts}) < 2:
        return
    lines = tuple(line for line, _ in differences[:MOST_LINES])
    yield _fact("job.node_differences", lines, [fact for _, facts in differences for fact in facts])
    for node, told in sorted(odd.items()):
        yield _fact("node.odd", tuple(line for line, _ in told[:MOST_LINES]), [fact for _, fact in told], node)


def _seen(store: FactStore) -> Seen:
    found: Seen = {}
    for name in OF_NODES:
        found[name] = {fact.entity: fact for fact in store.every(name) if _of_a_node(fact)}
    for name in OF_GPUS:
        found[name] = _joined(store.every(name))
    rdma = {fact.entity for fact in store.every("nic.link_layer")}
    main = {f"nic:{fact.entity[5:]}/{fact.value}" for fact in store.every("node.default_interface")}
    for name in OF_NICS:
        found[name] = _joined(fact for fact in store.every(name) if fact.entity in rdma)
        if name in ("nic.mtu", "nic.rate"):
            found[f"{name} of the default route"] = _joined(f for f in store.every(name) if f.entity in main)
    for name in sorted(store.names()):
        if (name.startswith("env.") and not OWN.match(name)) or PACKAGES.match(name):
            found[name] = {fact.entity: fact for fact in store.every(name) if _of_a_node(fact)}
    with_variables = {node for name, facts in found.items() if name.startswith("env.") for node in facts}
    for name, facts in found.items():
        if name.startswith("env.") and facts:
            some = next(iter(facts.values()))
            for node in with_variables - facts.keys():
                facts[node] = Fact(name, UNSET, node, Source(some.source.kind, f"{node[5:]}"), quality=some.quality)
    return found


def _of_a_node(fact: Fact) -> bool:
    return fact.entity.startswith("node:") and fact.entity != "node:?" and fact.quality is not Quality.FAILED


def _joined(facts: Iterable[Fact]) -> dict[str, Fact]:
    """One fact a node for those of its GPUs or ports: each value once, in order."""
    values: dict[str, set[str]] = defaultdict(set)
    first: dict[str, Fact] = {}
    for fact in facts:
        node = "node:" + fact.entity.partition(":")[2].rpartition("/")[0]
        if fact.quality is not Quality.FAILED and node not in ("node:", "node:?"):
            values[node].add(_shown(fact.name, fact.value))
            first.setdefault(node, fact)
    return {
        node: Fact(fact.name, ", ".join(sorted(values[node])), node, fact.source, quality=fact.quality)
        for node, fact in first.items()
    }


def _groups(name: str, facts: Mapping[str, Fact]) -> dict[str, list[str]]:
    """Nodes by value, those with the most nodes first."""
    groups: dict[str, list[str]] = defaultdict(list)
    share = ABOUT.get(name)
    middle = sorted(_number(fact.value) for fact in facts.values())[len(facts) // 2] if share and facts else 0.0
    for node, fact in facts.items():
        near = share is not None and abs(_number(fact.value) - middle) <= share * middle
        groups[_shown(name, middle if near else fact.value)].append(node)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _table(name: str, groups: Mapping[str, list[str]]) -> str:
    parts = []
    for value, nodes in groups.items():
        shown = sorted(node.removeprefix("node:") for node in nodes)
        parts.append(f"{value} on {', '.join(shown) if len(shown) <= MOST_NAMES else f'{len(shown)} nodes'}")
    return f"{_plain(name)}: " + "; ".join(parts)


def _plain(name: str) -> str:
    return name.removeprefix("env.").removeprefix("pip.")


def _shown(name: str, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        text = " ".join(f"{item} x{n}" if n > 1 else str(item) for item, n in Counter(value).items())
    elif isinstance(value, str):
        text = value
    elif name in ("node.shm_total", "node.memory_total", "node.stack_size", "node.memlock"):
        text = "unlimited" if _number(value) >= 1 << 63 else f"{_number(value) / (1 << 30):.4g} GiB"
    elif name == "nic.rate":
        text = f"{8 * _number(value) / 1e9:g} Gbit/s"
    else:
        text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _fact(name: str, value: Value, facts: Iterable[Fact], entity: str = "job") -> Fact:
    because: dict[Source, None] = dict.fromkeys(fact.source for fact in facts)
    return Fact(name, value, entity, Source("derived", text=name), quality=Quality.DERIVED, because=tuple(because)[:16])
