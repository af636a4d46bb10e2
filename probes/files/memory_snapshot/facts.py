"""From snapshots to facts of a GPU, and of the rank that drives it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source, Value
from probes.files.memory_snapshot.leak import leak
from probes.files.memory_snapshot.model import Device, Origins
from probes.files.memory_snapshot.replay import Course, Failure, Holding, run
from probes.files.memory_snapshot.sites import CATEGORIES, EARLIER, UNKNOWN

TOP = 10
STATES = ("parameters", "gradients", "optimizer_state", "parameter_buffers")


def device_facts(device: Device, path: str, rank: int | None) -> Iterator[Fact]:
    """Everything that the snapshot says of one device: of the rank that drives it, where that is known, since
    devices of several hosts have the same numbers and a snapshot does not name its host."""
    course = run(device, Origins())
    entity = f"rank:{rank}" if rank is not None else f"gpu:?/{device.index}"
    told = dict(_state(device))
    told["snapshot.recorded"] = bool(device.entries)
    if device.entries:
        told |= dict(_course(course, len(device.entries)))
    elif sum(course.end.by_category.values()):
        told |= dict(_holding("end", course.end))
    words = _words(told, course)
    for name, value in told.items():
        if value != ():
            yield Fact(name, value, entity, Source("snapshot", path, 0, words), None, Quality.MEASURED)


def _state(device: Device) -> Iterator[tuple[str, Value]]:
    """What the allocator holds at the moment of the snapshot."""
    blocks = [block for segment in device.segments for block in segment.blocks]
    reserved = sum(segment.size for segment in device.segments)
    allocated = sum(block.size for block in blocks if block.alive)
    free = [block.size for block in blocks if not block.alive]
    yield "snapshot.reserved", reserved
    yield "snapshot.allocated", allocated
    yield "snapshot.cached", reserved - allocated
    yield "snapshot.rounding", sum(block.size - block.used for block in blocks if block.alive)
    yield "snapshot.largest_free", max(free, default=0)
    yield "snapshot.free_pieces", len(free)
    yield "snapshot.segments", len(device.segments)
    yield "snapshot.expandable", any(segment.expandable for segment in device.segments)


def _course(course: Course, entries: int) -> Iterator[tuple[str, Value]]:
    yield "snapshot.entries", entries
    yield "snapshot.span", course.span / 1e6
    yield "snapshot.cut", course.cut
    yield "snapshot.earlier", course.older
    yield "snapshot.retries", course.retries
    yield "snapshot.oom_count", len(course.failures)
    yield from _holding("peak", course.peak)
    yield from _holding("end", course.end)
    yield "snapshot.timeline", tuple(_sample(s.time, s.total, s.by_category) for s in course.samples)
    worst = course.peak
    if course.failures:
        first = course.failures[0]
        worst = first.holding
        yield from _failure(first)
    yield from _shares(worst)
    if (found := leak(course)) is not None:
        yield "snapshot.growth_per_phase", found.per_phase
        yield "snapshot.growth", found.total
        if found.keeper is not None:
            yield "snapshot.growth_site", found.keeper.site or "a stack that was not recorded"
            yield "snapshot.growth_category", found.keeper.category
            yield "snapshot.growth_kept", found.kept


def _failure(first: Failure) -> Iterator[tuple[str, Value]]:
    yield "snapshot.oom_requested", first.requested
    yield "snapshot.oom_reserved", first.reserved
    yield "snapshot.oom_cached", max(first.reserved - first.holding.total, 0)
    if first.device_free >= 0:
        yield "snapshot.oom_device_free", first.device_free
    if first.site:
        yield "snapshot.oom_site", first.site
    yield from _holding("oom", first.holding)


def _holding(moment: str, holding: Holding) -> Iterator[tuple[str, Value]]:
    """Who holds how much at a moment: categories as `name=bytes`, stacks as `bytes category stack`, largest first."""
    yield f"snapshot.{moment}_total", holding.total
    order = sorted(holding.by_category, key=lambda name: -holding.by_category[name])
    yield f"snapshot.{moment}_categories", tuple(f"{name}={holding.by_category[name]}" for name in order)
    sites = sorted((o for o in holding.by_site if o.site), key=lambda origin: -holding.by_site[origin])[:TOP]
    yield f"snapshot.{moment}_sites", tuple(f"{holding.by_site[o]} {o.category} {o.site}" for o in sites)


def _shares(holding: Holding) -> Iterator[tuple[str, Value]]:
    """Shares at the error, or at the peak where there was none."""
    if holding.total <= 0:
        return
    share = {name: holding.by_category.get(name, 0) / holding.total for name in CATEGORIES}
    for name in ("activations", "logits", "communication", "temporary"):
        yield f"snapshot.{name}_share", share[name]
    yield "snapshot.states_share", sum(share[name] for name in STATES)
    yield "snapshot.unknown_share", share[UNKNOWN] + share[EARLIER]


def _sample(time: int, total: int, by_category: dict[str, int]) -> str:
    parts = ",".join(f"{name}={size}" for name, size in sorted(by_category.items(), key=lambda pair: -pair[1]))
    return f"{time / 1e6:.6f} {total} {parts}"


def _words(told: dict[str, Value], course: Course) -> str:
    """The snapshot in one line, as proof."""
    moment = "error" if course.failures else "peak" if told["snapshot.recorded"] else "end"
    holding = course.failures[0].holding if course.failures else course.peak
    order = sorted(holding.by_category.items(), key=lambda pair: -pair[1])[:4]
    parts = ", ".join(f"{name} {size / 2**30:.2f} GiB" for name, size in order if size)
    return f"at the {moment} {holding.total / 2**30:.2f} GiB held: {parts or 'nothing'}"
