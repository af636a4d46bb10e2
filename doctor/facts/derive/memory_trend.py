"""Memory that grows from step to step: on the GPU a leak of tensors, on the host one of the data loader or a profiler.

A leak grows in proportion to the steps. Caches and lazy states grow once or twice and then stay, so a growth counts
only if it goes on to the end of the log and a straight line explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from doctor.facts.derive.oom import fact, number
from doctor.facts.derive.oom_site import entity_of
from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore

NEEDS = (
    *("event:memory.sample", "event:host.memory_sample", "event:progress.step", "event:progress.rate"),
    *("event:torch.alloc_retries", "event:deepspeed.memory_usage"),
)
GIVES = (
    *("mem.grows", "mem.growth_per_step", "mem.growth_total", "mem.jumps_once", "mem.retries"),
    *("hostmem.grows", "hostmem.growth_per_step"),
)

FEWEST = 5
"""Samples that a trend needs: the first is left out, and three points lie near a line by chance."""
SMALLEST_SHARE = 0.02
"""Growth over the log, as a share of the first value, below which it is taken as noise."""
JUMP = 0.2
"""Rise after the first step, as a share: Adam adds 8 bytes to the 4 to 6 of a sharded parameter and its gradient."""
LINEAR = 0.9
"""Least coefficient of determination of a straight line."""

IN_USE = frozenset(
    ("allocated_gb", "used_gb", "memory_gib", "memory_allocated", "memory", "host_used", "allocated", "used")
)
"""What lines call the bytes in use."""

Sample: TypeAlias = tuple[float, float, Event]


def derive(store: FactStore) -> Iterable[Fact]:
    yield from _trends(store, ("memory.sample", "progress.step", "progress.rate"), "mem")
    yield from _trends(store, ("host.memory_sample", "deepspeed.memory_usage"), "hostmem")
    retries = [e for name in ("torch.alloc_retries", "progress.rate") for e in store.events(name)]
    counted = [(value, e) for e in retries if (value := number(e, "retries") or number(e, "alloc_retries")) is not None]
    if counted:
        value, event = max(counted, key=lambda pair: pair[0])
        yield fact("mem.retries", int(value), entity_of(event), event)


def _trends(store: FactStore, names: Sequence[str], prefix: str) -> Iterator[Fact]:
    for name in names:
        series: dict[tuple[str, str, int | None], list[Event]] = {}
        for event in store.events(name):
            series.setdefault((entity_of(event), event.source.path, event.rank), []).append(event)
        trends: dict[str, list[list[Fact]]] = {}
        for (entity, _, _), events in series.items():
            samples = list(_samples(events))
            if len(samples) >= FEWEST:
                trends.setdefault(entity, []).append(list(_trend(entity, samples, prefix)))
            if prefix == "mem" and len(samples) > 1:
                yield from _jump(entity, samples)
        for told in trends.values():
            # A leak of one rank among many: those that do not grow say nothing of it.
            yield from max(told, key=len)


def _samples(events: Sequence[Event]) -> Iterator[Sample]:
    for position, event in enumerate(sorted(events, key=lambda e: e.order)):
        if (used := bytes_in_use(event)) is None:
            continue
        step = number(event, "at_step")
        step = number(event, "step") if step is None else step
        step = float(event.step) if step is None and event.step is not None else step
        yield (float(position) if step is None else step), used, event


def bytes_in_use(event: Event) -> float | None:
    """Bytes that a sample shows, whatever unit it was printed in; a number without a unit is taken as GiB."""
    if IN_USE.isdisjoint(event.fields):
        return None
    for name, unit in (("allocated_gb", 1024.0**3), ("used_gb", 1024.0**3), ("memory_gib", 1024.0**3)):
        if (value := number(event, name)) is not None:
            return value * unit
    for name in ("memory_allocated", "memory", "host_used"):
        if (value := number(event, name)) is not None:
            return value
    value = number(event, "allocated") if event.name != "deepspeed.memory_usage" else None
    value = number(event, "used") if value is None else value
    if value is None:
        return None
    unit_name = str(event.fields.get("unit") or event.fields.get("unit_after") or "G").upper()
    return value * (1024.0**2 if unit_name.startswith("M") else 1024.0**3)


def _trend(entity: str, samples: Sequence[Sample], prefix: str) -> Iterator[Fact]:
    steady = samples[1:]
    first, last = steady[0], steady[-1]
    values = [used for _, used, _ in steady]
    total = last[1] - first[1]
    rising = sum(1 for a, b in pairwise(values) if b > a)
    grows = (
        total > SMALLEST_SHARE * first[1] > 0
        and rising >= 0.8 * (len(values) - 1)
        and straightness([(step, used) for step, used, _ in steady]) >= LINEAR
    )
    yield fact(f"{prefix}.grows", grows, entity, first[2], last[2])
    if grows:
        span = max(last[0] - first[0], 1.0)
        yield fact(f"{prefix}.growth_per_step", total / span, entity, first[2], last[2])
        if prefix == "mem":
            yield fact("mem.growth_total", total, entity, first[2], last[2])


def _jump(entity: str, samples: Sequence[Sample]) -> Iterator[Fact]:
    """Does what stays allocated rise once after the first step? The least value of each step is what stays."""
    least: dict[float, tuple[float, Event]] = {}
    for step, used, event in samples:
        if step not in least or used < least[step][0]:
            least[step] = (used, event)
    (_, (before, at_first)), *later = sorted(least.items(), key=lambda item: item[0])
    if not later or before <= 0:
        return
    values = [used for _, (used, _) in later]
    jumps = values[0] > (1 + JUMP) * before and max(values) <= (1 + SMALLEST_SHARE) * values[0]
    yield fact("mem.jumps_once", jumps, entity, at_first, later[0][1][1])


def straightness(points: Sequence[tuple[float, float]]) -> float:
    """Coefficient of determination of the least-squares line; 0 for points that do not vary."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return xy * xy / (xx * yy) if xx > 0 and yy > 0 else 0.0
