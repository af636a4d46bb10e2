"""What dumps of nodes say together: free memory, processes that share GPUs, hardware uneven in or among nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from ipaddress import ip_interface, ip_network
from statistics import median

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = (
    *("gpu.memory_total", "gpu.memory_used", "gpu.memory_free", "gpu.process_pids", "gpu.utilization", "gpu.name"),
    *("gpu.throttle_reasons", "gpu.pcie_width", "gpu.pcie_width_max", "gpu.sm_clock", "gpu.power", "gpu.temperature"),
    *("nic.mtu", "nic.rate", "nic.state", "nic.link_layer", "node.interfaces", "node.driver_version"),
    *("node.fabric_manager_version", "node.shm_total", "node.shm_used", "container.shm_size", "container.memlock"),
)
GIVES = (
    *("gpu.memory_free", "gpu.process_count", "gpu.throttled", "gpu.pcie_narrow", "gpu.slower_clock"),
    *("node.gpu_count", "node.gpu_utilization", "node.gpus_sharing_pid", "node.gpus_idle", "node.gpu_names_differ"),
    *("node.subnets_shared", "node.fabric_manager_mismatch", "node.drivers_differ", "node.shm_free"),
    *("node.shm_total", "node.memlock"),
    *("nic.mtu_differs", "nic.rates_differ", "nic.link_layers_differ", "nic.ports_down"),
)

BAD_REASONS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake", "sw_thermal_slowdown")
"""Reasons that healthy GPUs do not show; sw_power_cap is normal at full load (NVML, nvmlClocksEventReasons)."""
IDLE = 0.05
BUSY = 0.5
SLOW_CLOCK = 0.85
"""A working GPU's clock below this share of the node's median stands out: equal cards differ by a few per cent."""


def derive(store: FactStore) -> Iterator[Fact]:
    gpus = _gpus_by_node(store)
    for node, members in gpus.items():
        yield from _memory(store, members)
        yield from _processes(store, node, members)
        yield from _load(store, node, members)
        yield from _health(store, members)
    yield from _nodes(store)
    yield from _networks(store)
    yield from _containers(store)


def _fact(name: str, value: Value, facts: Iterable[Fact], entity: str = "job") -> Fact:
    because: dict[Source, None] = dict.fromkeys(fact.source for fact in facts)
    return Fact(name, value, entity, Source("derived", text=name), quality=Quality.DERIVED, because=tuple(because)[:16])


def _gpus_by_node(store: FactStore) -> dict[str, list[str]]:
    nodes: dict[str, list[str]] = defaultdict(list)
    for gpu in store.entities("gpu"):
        nodes["node:" + gpu.removeprefix("gpu:").rsplit("/", 1)[0]].append(gpu)
    return nodes


def _own(store: FactStore, name: str, entity: str) -> Fact | None:
    """The fact of `entity` itself, not one of what contains it."""
    fact = store.get(name, entity)
    return fact if fact and fact.entity == entity else None


def _every(store: FactStore, name: str, entities: Iterable[str]) -> list[Fact]:
    return [fact for entity in entities if (fact := _own(store, name, entity))]


def _number(fact: Fact) -> float:
    return float(fact.value) if isinstance(fact.value, int | float) else 0.0


def _memory(store: FactStore, gpus: list[str]) -> Iterator[Fact]:
    for gpu in gpus:
        total, used = _own(store, "gpu.memory_total", gpu), _own(store, "gpu.memory_used", gpu)
        if total and used and not _own(store, "gpu.memory_free", gpu):
            yield _fact("gpu.memory_free", int(_number(total) - _number(used)), (total, used), gpu)


def _processes(store: FactStore, node: str, gpus: list[str]) -> Iterator[Fact]:
    """A process with memory on several GPUs: a context on GPU 0 in each rank, or one program that splits a model."""
    lists = _every(store, "gpu.process_pids", gpus)
    count: Counter[Value] = Counter()
    for fact in lists:
        pids = fact.value if isinstance(fact.value, tuple) else (fact.value,)
        count.update(set(pids))
        yield _fact("gpu.process_count", len(set(pids)), (fact,), fact.entity)
    if len(lists) > 1:
        shared = tuple(sorted(int(pid) for pid, times in count.items() if times > 1 and isinstance(pid, int)))
        yield _fact("node.gpus_sharing_pid", shared, lists, node)


def _load(store: FactStore, node: str, gpus: list[str]) -> Iterator[Fact]:
    loads = _every(store, "gpu.utilization", gpus)
    if loads:
        idle = [fact for fact in loads if _number(fact) < IDLE]
        if not _own(store, "node.gpu_utilization", node):
            yield _fact("node.gpu_utilization", sum(map(_number, loads)) / len(loads), loads, node)
        yield _fact("node.gpus_idle", len(idle), idle or loads, node)
    names = _every(store, "gpu.name", gpus)
    if names and not _own(store, "node.gpu_count", node):
        yield _fact("node.gpu_count", len(gpus), names, node)
    if len(names) > 1:
        yield _fact("node.gpu_names_differ", len({fact.value for fact in names}) > 1, names, node)


def _health(store: FactStore, gpus: list[str]) -> Iterator[Fact]:
    for gpu in gpus:
        reasons = _own(store, "gpu.throttle_reasons", gpu)
        if reasons and isinstance(reasons.value, tuple):
            yield _fact("gpu.throttled", any(reason in BAD_REASONS for reason in reasons.value), (reasons,), gpu)
        width, most = _own(store, "gpu.pcie_width", gpu), _own(store, "gpu.pcie_width_max", gpu)
        if width and most:
            yield _fact("gpu.pcie_narrow", _number(width) < _number(most), (width, most), gpu)
    yield from _clocks(store, gpus)


def _clocks(store: FactStore, gpus: list[str]) -> Iterator[Fact]:
    """Clocks are compared among the GPUs of a node that work; idle ones clock down."""
    working = [
        (clock, load)
        for gpu in gpus
        if (clock := _own(store, "gpu.sm_clock", gpu))
        and (load := _own(store, "gpu.utilization", gpu))
        and _number(load) >= BUSY
    ]
    if len(working) < 3:
        return
    usual = median(_number(clock) for clock, _ in working)
    for clock, load in working:
        yield _fact("gpu.slower_clock", _number(clock) < SLOW_CLOCK * usual, (clock, load), clock.entity)


def _nodes(store: FactStore) -> Iterator[Fact]:
    for node in store.entities("node"):
        manager, driver = _own(store, "node.fabric_manager_version", node), _own(store, "node.driver_version", node)
        if manager and driver:
            yield _fact("node.fabric_manager_mismatch", manager.value != driver.value, (manager, driver), node)
        total, used = _own(store, "node.shm_total", node), _own(store, "node.shm_used", node)
        if total and used and not _own(store, "node.shm_free", node):
            yield _fact("node.shm_free", int(_number(total) - _number(used)), (total, used), node)
        if interfaces := _own(store, "node.interfaces", node):
            yield _fact("node.subnets_shared", _shared_subnets(interfaces.value), (interfaces,), node)
    drivers = list(store.every("node.driver_version"))
    if len({fact.entity for fact in drivers}) > 1:
        yield _fact("node.drivers_differ", len({fact.value for fact in drivers}) > 1, drivers)


def _shared_subnets(value: Value) -> tuple[str, ...]:
    """Subnets in which two interfaces of one host have addresses, as `subnet: eth0 eth1`."""
    members: dict[str, list[str]] = defaultdict(list)
    for text in value if isinstance(value, tuple) else ():
        name, _, address = str(text).partition("=")
        try:
            network = ip_interface(address).network
        except ValueError:
            continue
        if network.num_addresses > 1 and not network.overlaps(ip_network("127.0.0.0/8")):
            members[str(network)].append(name.split(":")[0])
    names = {network: list(dict.fromkeys(found)) for network, found in members.items()}
    return tuple(f"{network}: {' '.join(found)}" for network, found in names.items() if len(found) > 1)


def _networks(store: FactStore) -> Iterator[Fact]:
    """RDMA ports of all nodes beside each other. Those of another kind or speed may serve storage: a hint only."""
    layers = {fact.entity: fact for fact in store.every("nic.link_layer")}
    states = [fact for fact in store.every("nic.state") if fact.entity in layers]
    active = {fact.entity for fact in states if fact.value == "ACTIVE"}
    for name, given in (("nic.mtu", "nic.mtu_differs"), ("nic.rate", "nic.rates_differ")):
        found = [fact for fact in store.every(name) if fact.entity in active]
        if len(found) > 1:
            yield _fact(given, len({fact.value for fact in found}) > 1, found)
    used = [fact for entity, fact in layers.items() if entity in active]
    if len(used) > 1:
        yield _fact("nic.link_layers_differ", len({fact.value for fact in used}) > 1, used)
    if states:
        down = [fact for fact in states if fact.value != "ACTIVE"]
        yield _fact("nic.ports_down", tuple(fact.entity.removeprefix("nic:") for fact in down), down or states)


def _containers(store: FactStore) -> Iterator[Fact]:
    """What a container was started with holds inside it, where nothing was measured."""
    for name, given in (("container.shm_size", "node.shm_total"), ("container.memlock", "node.memlock")):
        measured = {fact.entity for fact in store.every(given)}
        for fact in list(store.every(name)):
            if fact.entity not in measured:
                yield _fact(given, fact.value, (fact,), fact.entity)
