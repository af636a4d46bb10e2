"""GPUs beside each other and beside what their model can do: links, power limits, clocks, fabric, missing cards."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = (
    *("gpu.name", "gpu.power_limit", "gpu.power_limit_default", "gpu.pcie_gen", "gpu.pcie_gen_max", "gpu.utilization"),
    *("gpu.sm_clock", "gpu.sm_clock_max", "gpu.throttle_reasons", "gpu.performance_state", "gpu.nvlinks_active"),
    *("gpu.nvlinks_inactive", "gpu.fabric_state", "gpu.fabric_status", "gpu.fabric_bandwidth", "gpu.fabric_health"),
    *("gpu.fabric_route_unhealthy", "gpu.fabric_configuration", "gpu.bar1_total", "gpu.memory_total", "node.gpu_count"),
    "node.nvml_error",
)
GIVES = (
    *("gpu.power_limit_lowered", "gpu.pcie_slow", "gpu.clock_low", "gpu.nvlinks_missing", "gpu.fabric_unhealthy"),
    *("gpu.bar1_small", "node.gpus_missing", "node.gpus_none", "job.gpu_models"),
)

LOWERED = 0.97
"""Limits are set in whole watts; a share below this is a limit that somebody lowered."""
BUSY, FULL = 0.5, 0.9
LOW_CLOCK = 0.7
"""A power cap costs a busy data-centre card some 10 to 25% of its clock; below this share of the maximum it is more."""
SLOW_STATE = 5
"""GPUs compute in P0, GeForce cards in P2; P5 and above are states of low power (NVML, nvmlPstates_t)."""
ALL_LINKED = re.compile(r"SXM|HBM3|\b(?:GB|B|H)\d00\b|\bH20\b")
"""Boards whose NVLinks all lead to switches or peers; on cards with bridges some links stay free."""
BRIDGED = re.compile(r"PCIe|NVL\b")
EXPLAINED = ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake", "sw_thermal_slowdown", "idle")
_BRAND = re.compile(r"^(?:NVIDIA|Tesla) ")
"""Drivers since 470 put it before the model; tables cut long names short."""
NO_FABRIC = ("n/a", "success", "not supported", "")


def derive(store: FactStore) -> Iterator[Fact]:
    nodes: dict[str, list[str]] = defaultdict(list)
    for gpu in store.entities("gpu"):
        nodes[gpu.removeprefix("gpu:").rsplit("/", 1)[0]].append(gpu)
    for gpus in nodes.values():
        for gpu in gpus:
            yield from _settings(store, gpu)
            yield from _fabric(store, gpu)
        yield from _links(store, gpus)
    yield from _missing(store)
    names = {_BRAND.sub("", str(fact.value)).rstrip(". "): fact for fact in store.every("gpu.name")}
    models = sorted(name for name in names if not any(other != name and other.startswith(name) for other in names))
    if models:
        yield _fact("job.gpu_models", tuple(models), "job", [names[name] for name in models])


def _fact(name: str, value: Value, entity: str, facts: Iterable[Fact]) -> Fact:
    because: dict[Source, None] = dict.fromkeys(fact.source for fact in facts)
    return Fact(name, value, entity, Source("derived", text=name), quality=Quality.DERIVED, because=tuple(because)[:16])


def _own(store: FactStore, name: str, gpu: str) -> Fact | None:
    fact = store.get(name, gpu)
    return fact if fact and fact.entity == gpu else None


def _number(fact: Fact) -> float:
    return float(fact.value) if isinstance(fact.value, int | float) else 0.0


def _settings(store: FactStore, gpu: str) -> Iterator[Fact]:
    limit, usual = _own(store, "gpu.power_limit", gpu), _own(store, "gpu.power_limit_default", gpu)
    if limit and usual and _number(usual) > 0:
        yield _fact("gpu.power_limit_lowered", _number(limit) < LOWERED * _number(usual), gpu, (limit, usual))
    bar1, memory = _own(store, "gpu.bar1_total", gpu), _own(store, "gpu.memory_total", gpu)
    if bar1 and memory:
        yield _fact("gpu.bar1_small", _number(bar1) < 0.5 * _number(memory), gpu, (bar1, memory))
    load = _own(store, "gpu.utilization", gpu)
    if load is None or _number(load) < BUSY:
        return
    gen, most = _own(store, "gpu.pcie_gen", gpu), _own(store, "gpu.pcie_gen_max", gpu)
    if gen and most:
        yield _fact("gpu.pcie_slow", _number(gen) < _number(most), gpu, (gen, most, load))
    if _number(load) >= FULL:
        yield from _clock(store, gpu, load)


def _clock(store: FactStore, gpu: str, load: Fact) -> Iterator[Fact]:
    """Is the clock of a GPU that works all the time low without a reason that the GPU names?"""
    clock, most = _own(store, "gpu.sm_clock", gpu), _own(store, "gpu.sm_clock_max", gpu)
    state, reasons = _own(store, "gpu.performance_state", gpu), _own(store, "gpu.throttle_reasons", gpu)
    named = reasons is not None and isinstance(reasons.value, tuple) and any(r in EXPLAINED for r in reasons.value)
    low = bool(clock and most and _number(clock) < LOW_CLOCK * _number(most))
    digits = str(state.value)[1:] if state else ""
    low |= digits.isdecimal() and len(digits) < 3 and int(digits) >= SLOW_STATE
    used = [fact for fact in (clock, most, state, load) if fact]
    if len(used) > 1:
        yield _fact("gpu.clock_low", low and not named, gpu, used)


def _fabric(store: FactStore, gpu: str) -> Iterator[Fact]:
    """A fabric that is set up and yet reports trouble; one that is not set up is the fabric manager's matter."""
    state = _own(store, "gpu.fabric_state", gpu)
    if state is None or str(state.value).lower() != "completed":
        return
    status, bandwidth = _own(store, "gpu.fabric_status", gpu), _own(store, "gpu.fabric_bandwidth", gpu)
    bad = [status] if status and str(status.value).lower() not in NO_FABRIC else []
    bad += [bandwidth] if bandwidth and str(bandwidth.value).lower() == "degraded" else []
    health, route = _own(store, "gpu.fabric_health", gpu), _own(store, "gpu.fabric_route_unhealthy", gpu)
    bad += [health] if health and str(health.value).lower() in ("unhealthy", "limited capacity") else []
    bad += [route] if route and route.value is True else []
    yield _fact("gpu.fabric_unhealthy", bool(bad), gpu, bad or [state])


def _links(store: FactStore, gpus: list[str]) -> Iterator[Fact]:
    """Links are missing where equal GPUs have more, and where a board that uses all of its links has one inactive."""
    found = {gpu: fact for gpu in gpus if (fact := _own(store, "gpu.nvlinks_active", gpu))}
    most: dict[str, float] = defaultdict(float)
    names = {gpu: str(name.value) if (name := _own(store, "gpu.name", gpu)) else "" for gpu in found}
    for gpu, fact in found.items():
        most[names[gpu]] = max(most[names[gpu]], _number(fact))
    for gpu, fact in found.items():
        inactive = _own(store, "gpu.nvlinks_inactive", gpu)
        linked = bool(ALL_LINKED.search(names[gpu])) and not BRIDGED.search(names[gpu])
        partly = linked and inactive is not None and _number(inactive) > 0 and most[names[gpu]] > 0
        fewer = _number(fact) < most[names[gpu]]
        yield _fact("gpu.nvlinks_missing", partly or fewer, gpu, [inactive or fact, fact])


def _missing(store: FactStore) -> Iterator[Fact]:
    """Nodes that list fewer GPUs than the others, and nodes whose driver finds none at all.

    A node with half as many or less is of another kind, such as a login node.
    """
    counts: dict[str, Fact] = {}
    for fact in store.every("node.gpu_count"):  # a query of one GPU counts but that one
        counts[fact.entity] = max(counts.get(fact.entity, fact), fact, key=_number)
    most = max(map(_number, counts.values()), default=0)
    if len(counts) > 1:
        largest = next(fact for fact in counts.values() if _number(fact) == most)
        for node, fact in counts.items():
            missing = int(most - _number(fact)) if _number(fact) > most / 2 else 0
            yield _fact("node.gpus_missing", missing, node, (fact, largest))
    for error in store.every("node.nvml_error"):
        none = re.search(r"No devices were found|couldn't communicate with the NVIDIA driver", str(error.value))
        yield _fact("node.gpus_none", bool(none), error.entity, (error,))
