"""From recordings of all ranks to facts of the job and of each rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from doctor.facts.derive.memory_trend import LINEAR, SMALLEST_SHARE, straightness
from doctor.facts.derive.samples import blocks
from doctor.facts.model import Fact, Quality, Source, Value
from probes.files.expert_loads import facts as loads_facts
from probes.files.expert_loads.judge import judge
from probes.files.expert_loads.model import Loads
from probes.files.recording.model import Held, Point, Recording

FEW = 6
"""Steps after the warm-up below which nothing is said of shares and trends."""
PARTS, LEAST_PART = 32, 4
"""Into so many parts of at least so many steps a course is cut; the lowest moment of each is what stays."""
DEGREES = {"tp": "config.tp", "pp": "config.pp", "cp": "config.cp", "ep": "config.ep"}
UNSHARDED = ("ddp", "megatron")
"""Wrappers that keep whole gradients, so that reducing them once a step costs no memory. Where gradients are sharded
(FSDP, ZeRO-2) each pass reduces by design."""


def facts(found: Sequence[Recording]) -> Iterator[Fact]:
    """Everything that the recordings of one job say; `found` is in the order of ranks."""
    for one in found:
        yield from _rank(one)
    told = [one for one in found if one.steps]
    if told:
        yield from _job(told)
        yield from _memory(told)
    loads = Loads()
    for one in found:
        for (step, layer), tokens in one.loads.rows.items():
            loads.add(step, layer, tokens)
    loaded = judge(loads)
    if loaded is not None:
        yield from loads_facts.facts(loaded, loads, found[0].path)


def _rank(one: Recording) -> Iterator[Fact]:
    """What one rank's file says of it."""
    head, last, device = one.head, one.last, one.head.device
    values: dict[str, Value | None] = {
        "rank.host": head.host[:255] or None,
        "rank.local_rank": head.local_rank,
        "recording.pid": head.pid or None,
        "recording.steps": one.steps,
        "recording.parameters": head.parameters or None,
        "recording.stage": _place(head.groups.get("pp")),
        "recording.wrapped": tuple(name[:40] for name in head.wrapped[:8]),
    }
    if device is not None:
        values["recording.device_bus"] = device.bus.lower()[:40] if device.bus else None
        values["recording.device_index"] = _physical(device.index, device.visible)
        values["recording.device_memory"] = device.memory if 0 < device.memory < 1 << 60 else None
    if one.after:
        values["recording.step_time"] = median(point.seconds for point in one.points) if one.points else None
        values["recording.data_share"] = _data_share(one)
        values["recording.between_share"] = one.between / one.seconds if one.seconds else None
        values["recording.passes"] = max(one.passes, key=lambda count: one.passes[count], default=None)
        values["recording.reduced_share"] = one.reduced / one.accumulated if one.accumulated else None
    if last is not None:
        names = ("allocated", "allocated_peak", "reserved", "reserved_peak", "inactive_split", "retries", "ooms")
        values |= {f"recording.{name}": getattr(last, name) for name in names}
    if one.held is not None:
        values |= _held({name: getattr(one.held, name) for name in ("parameters", "gradients", "optimizer")})
    text = f"rank {head.rank}, {one.steps} steps"
    for name, value in values.items():
        if value is not None and value != ():
            line = one.last_line if name not in ("rank.host", "rank.local_rank", "recording.pid") else one.line
            yield _fact(name, value, f"rank:{head.rank}", one, line, text)


def _place(group: list[int] | None) -> int | None:
    """The rank's place in a group that is told as size and place."""
    return group[1] if group and len(group) == 2 and 0 <= group[1] < group[0] < 1 << 20 else None


def _held(by_name: dict[str, Held]) -> dict[str, Value | None]:
    """Bytes by category on the device that holds most parameters; what lies elsewhere is offloaded."""
    kinds = {kind for held in by_name.values() for kind in held}
    main = next((kind for kind in ("cuda", "hip", "xpu") if kind in kinds), "cpu")
    found: dict[str, Value | None] = {f"recording.held_{name}": held.get(main) for name, held in by_name.items()}
    away = sum(size for held in by_name.values() for kind, size in held.items() if kind != main)
    found["recording.held_elsewhere"] = away or None
    return found


def _physical(index: int, visible: str | None) -> int | None:
    """The number of a GPU on its node, by CUDA_VISIBLE_DEVICES; None where that names GPUs otherwise."""
    if not 0 <= index < 1024:
        return None
    if not visible:
        return index
    names = [name.strip() for name in visible.split(",")]
    return int(names[index]) if index < len(names) and names[index].isdecimal() and len(names[index]) < 5 else None


def _job(told: Sequence[Recording]) -> Iterator[Fact]:
    """Steps and waits. All ranks of a step wait for each other, so the rank that waits longest for data counts."""
    first = told[0]
    yield _fact("run.steps", max(one.steps for one in told), "job", first, first.last_line, f"{first.steps} steps")
    yield _fact("config.world_size", max(first.head.world_size, 1), "job", first, first.line, "world_size")
    for name, fact in DEGREES.items():
        degree = (first.head.groups.get(name) or [0])[0]
        if 0 < degree < 1 << 20:
            yield _fact(fact, degree, "job", first, first.line, f"groups: {name} of {degree}")
    if first.head.zero_stage is not None and 0 <= first.head.zero_stage <= 3:
        yield _fact("config.zero_stage", first.head.zero_stage, "job", first, first.line, "zero_stage")
    timed = [one for one in told if one.points]
    if not timed:
        return
    times = {one.head.rank: median(point.seconds for point in one.points) for one in timed}
    middle = median(times.values())
    near = min(timed, key=lambda one: abs(times[one.head.rank] - middle))
    yield _fact("run.step_time", middle, "job", near, near.points[0].line, f"a step takes {middle:.4g} s")
    yield from _course(near)
    shares = [(share, one) for one in timed if one.after >= FEW and (share := _data_share(one)) is not None]
    if shares:
        share, worst = max(shares, key=lambda pair: pair[0])
        text = f"rank {worst.head.rank} waits {share:.0%} of {worst.after} steps for the data loader"
        yield _fact("run.data_share", share, "job", worst, worst.last_line, text)
    yield from _reductions([one for one in timed if one.after >= FEW])


def _course(one: Recording) -> Iterator[Fact]:
    times = [point.seconds for point in one.points]
    yield _fact("run.step_time_blocks", blocks(times), "job", one, one.points[0].line, f"{len(times)} steps")
    for name, point in (("first", one.points[0]), ("last", one.points[-1])):
        yield _fact(f"run.{name}_step", point.step, "job", one, point.line, f"step {point.step}")
    if len(times) < FEW:
        return
    third = max(len(times) // 3, 1)
    early, late = median(times[:third]), median(times[-third:])
    for name, value, point in (("first", early, one.points[0]), ("last", late, one.points[-1])):
        yield _fact(f"run.step_time_{name}", value, "job", one, point.line, f"a step takes {value:.4g} s")
    if early > 0:
        text = f"{early:.4g} s a step early, {late:.4g} s late"
        yield _fact("run.step_time_trend", late / early, "job", one, one.last_line, text)


def _data_share(one: Recording) -> float | None:
    """Waiting for the loader over the time of the steps: on the GPU's own clock where that was measured, since a
    program that runs ahead of its GPU may wait without harm."""
    if not one.seconds:
        return None
    if one.device_steps > one.after // 2:
        return one.device_data / one.seconds
    return one.data / one.seconds if one.loaded > one.after // 2 else None


def _reductions(told: Sequence[Recording]) -> Iterator[Fact]:
    """Do passes that only accumulate reduce too?"""
    counted = [one for one in told if one.passes]
    if not counted:
        return
    first = counted[0]
    passes = max(first.passes, key=lambda count: first.passes[count])
    text = f"{passes} backward passes a step"
    yield _fact("config.grad_accum", passes, "job", first, first.last_line, text)
    known = [one for one in counted if one.accumulated and one.counted > one.after // 2]
    known = [one for one in known if any(kind in UNSHARDED for kind in one.head.wrapped) and one.head.world_size > 1]
    if known and passes > 1:
        share = median(one.reduced / one.accumulated for one in known)
        text += f", of those before the last {share:.0%} reduce gradients over the ranks"
        yield _fact("run.reduced_while_accumulating", share, "job", first, first.last_line, text)


def _memory(told: Sequence[Recording]) -> Iterator[Fact]:
    """The allocator's counters of the rank where each is worst, and memory that grows."""
    retried = [(one.last.retries, one) for one in told if one.last is not None and one.last.retries is not None]
    if retried:
        count, worst = max(retried, key=lambda pair: pair[0])
        text = f"rank {worst.head.rank}: num_alloc_retries {count}"
        yield _fact("run.alloc_retries", count, "job", worst, worst.last_line, text)
    peaks = [(one.last.reserved_peak, one) for one in told if one.last is not None and one.last.reserved_peak]
    if peaks:
        peak, fullest = max(peaks, key=lambda pair: pair[0] or 0)
        text = f"rank {fullest.head.rank}: {peak} B reserved at the peak"
        yield _fact("run.memory_max", peak or 0, "job", fullest, fullest.last_line, text)
        card = fullest.head.device.memory if fullest.head.device else 0
        if card > 0:
            share = min((peak or 0) / card, 1.0)
            yield _fact("run.memory_share", share, "job", fullest, fullest.last_line, text)
    trends = [(trend, one) for one in told if (trend := _growth(one.points)) is not None]
    if trends:
        (grows, total, steps), worst = max(trends, key=lambda pair: (pair[0][0], pair[0][1]))
        text = f"rank {worst.head.rank}: {total:+,} B allocated at the end of a step, over {steps} steps"
        yield _fact("mem.grows", grows, "job", worst, worst.last_line, text)
        if grows:
            yield _fact("mem.growth_per_step", total / max(steps, 1), "job", worst, worst.last_line, text)
            yield _fact("mem.growth_total", float(total), "job", worst, worst.last_line, text)


def _growth(points: Sequence[Point]) -> tuple[bool, int, int] | None:
    """Does what stays allocated after a step grow in a straight line to the end? With the bytes, and the steps."""
    known = [(point.step, point.allocated) for point in points if point.allocated]
    count = min(PARTS, len(known) // LEAST_PART)
    if count < FEW:
        return None
    bounds = [round(i * len(known) / count) for i in range(count + 1)]
    lowest = [min(known[a:b], key=lambda pair: pair[1]) for a, b in pairwise(bounds)]
    total, steps = lowest[-1][1] - lowest[0][1], lowest[-1][0] - lowest[0][0]
    rising = sum(later[1] > earlier[1] for earlier, later in pairwise(lowest))
    line = straightness([(float(step), float(size)) for step, size in lowest])
    grows = total > SMALLEST_SHARE * lowest[0][1] and rising >= 0.8 * (count - 1) and line >= LINEAR
    return grows, total, steps


def _fact(name: str, value: Value, entity: str, one: Recording, line: int, text: str) -> Fact:
    return Fact(name, value, entity, Source("recording", one.path, line, text), None, Quality.MEASURED)
