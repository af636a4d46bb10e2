"""From the summary of a trace to facts of its rank, its devices and, over all ranks, the job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from doctor.facts.model import Fact, Quality, Source, Value
from probes.files.trace.model import Device, Parts, Summary
from probes.files.trace.roles import ROLES
from probes.files.trace.words import told

US, S = 1e3, 1e9
TOP = 20
STEPS = 64


def file_facts(summary: Summary, path: str, rank: int | None, host: str) -> Iterator[Fact]:
    """What one file says of its rank and of each device in it. A rank with several devices is told as its busiest."""
    main = max(summary.devices, key=lambda device: device.whole.busy, default=None)
    for device in summary.devices:
        entities = [f"gpu:{host}/{device.index}"]
        if device is main and rank is not None:
            entities.append(f"rank:{rank}")
        for entity in entities:
            for name, value in _device(device, summary):
                yield _fact(name, value, entity, path)
    if rank is not None:
        if summary.host:
            yield _fact("rank.host", summary.host, f"rank:{rank}", path)
        for name, value in _host(summary):
            yield _fact(name, value, f"rank:{rank}", path)


def job_facts(files: Sequence[tuple[str, Summary]]) -> Iterator[Fact]:
    """Times of a step as the median over the ranks, under the names that exported tables have too."""
    found: dict[str, list[tuple[float, str]]] = {}
    for path, summary in files:
        main = max(summary.devices, key=lambda device: device.whole.busy, default=None)
        for name, seconds in _times(summary, main):
            found.setdefault(name, []).append((seconds, path))
    for name, values in found.items():
        middle = median(value for value, _ in values)
        path = min(values, key=lambda pair: abs(pair[0] - middle))[1]
        yield _fact(name, middle, "job", path)
    ranked = [
        (max(summary.devices, key=lambda d: d.whole.busy), summary, path) for path, summary in files if summary.devices
    ]
    if ranked:
        device, summary, path = max(ranked, key=lambda entry: entry[0].whole.busy)
        count = max(len(summary.step_times), 1)
        words = tuple(f"{_plain(kernel.name)}={kernel.time / S / count:g}" for kernel in device.top[:TOP])
        yield _fact("trace.op_times", words, "job", path)
    worlds = [summary.world_size for _, summary in files if summary.world_size]
    if worlds:
        yield _fact("trace.world_size", max(worlds), "job", files[0][0])


def _device(device: Device, summary: Summary) -> Iterator[tuple[str, Value]]:
    whole = device.whole
    for name, length in (
        ("span", whole.span),
        ("busy", whole.busy),
        ("idle", whole.idle),
        ("compute", whole.compute),
        ("comm", whole.comm),
        ("comm_comp_overlap", whole.overlap),
        ("exposed_comm", whole.exposed_comm),
        ("exposed_mem", whole.exposed_memory),
    ):
        yield f"trace.{name}_us", length / US
    if whole.span:
        yield "trace.idle_share", whole.idle / whole.span
        yield "trace.exposed_comm_share", whole.exposed_comm / whole.span
        yield "trace.exposed_memory_share", whole.exposed_memory / whole.span
        for role in ROLES:
            if role in device.exposed_by_role:
                yield f"trace.exposed_{role}_share", device.exposed_by_role[role] / whole.span
                yield f"trace.comm_{role}_time", device.comm_by_role[role] / S
        if "unknown" not in device.exposed_by_role:
            yield "trace.exposed_unknown_share", 0.0
        if device.idle_host >= 0:
            yield "trace.idle_host_share", device.idle_host / whole.span
            yield "trace.idle_sync_share", device.idle_sync / whole.span
            yield "trace.idle_other_share", device.idle_other / whole.span
        yield "trace.pageable_copy_share", device.pageable / whole.span
        yield "trace.kernels_per_second", device.kernels / whole.span * S
    yield "trace.kernels", device.kernels
    yield "trace.kernel_median_time", device.median / S
    if device.launch_lag >= 0:
        yield "trace.launch_lag", device.launch_lag / S
    if device.recomputed >= 0 and whole.compute:
        yield "trace.recompute_share", device.recomputed / whole.compute
    if device.name:
        yield "trace.device_name", device.name
    if device.top:
        yield "trace.top_kernels", tuple(f"{_plain(kernel.name)}={kernel.time / S:g}" for kernel in device.top[:TOP])
    if device.steps:
        yield from _steps(device.steps, summary)
        for role in ROLES:
            if role in device.exposed_by_step:
                times = device.exposed_by_step[role][:STEPS]
                yield f"trace.step_exposed_{role}_us", tuple(length / US for length in times)
    if device.top_by_step:
        yield "trace.step_kernels", tuple(_by_step(device))


def _by_step(device: Device) -> Iterator[str]:
    """A kernel a row, in microseconds; kernels whose names begin alike stand together."""
    rows: dict[str, list[int]] = {}
    for kernel, times in zip(device.top, device.top_by_step, strict=True):
        known = rows.setdefault(_plain(kernel.name), [0] * len(times[:STEPS]))
        for place, time in enumerate(times[:STEPS]):
            known[place] += time
    for name, row in rows.items():
        yield f"{name}=" + " ".join(f"{time / US:g}" for time in row)


def _steps(steps: Sequence[Parts], summary: Summary) -> Iterator[tuple[str, Value]]:
    shown = steps[:STEPS]
    yield "trace.steps", len(steps)
    yield "trace.step_us", tuple(length / US for length in summary.step_times[:STEPS])
    yield "trace.step_compute_us", tuple(step.compute / US for step in shown)
    yield "trace.step_exposed_comm_us", tuple(step.exposed_comm / US for step in shown)
    yield "trace.step_exposed_mem_us", tuple(step.exposed_memory / US for step in shown)
    yield "trace.step_idle_us", tuple(step.idle / US for step in shown)


def _host(summary: Summary) -> Iterator[tuple[str, Value]]:
    span = max((device.whole.span for device in summary.devices), default=0) or summary.last - summary.first
    count = max(len(summary.step_times), 1)
    yield "trace.launches", summary.launches
    yield "trace.sync_calls", summary.sync_calls
    yield "trace.item_calls", summary.item_calls
    yield "trace.item_calls_per_step", summary.item_calls / count
    if span > 0:
        yield "trace.sync_share", summary.sync_time / span
        if summary.data_time >= 0:
            yield "trace.data_share", summary.data_time / span
        if summary.collect_time >= 0:
            yield "trace.gc_share", summary.collect_time / span
            yield "trace.gc_calls", summary.collect_calls


def _times(summary: Summary, device: Device | None) -> Iterator[tuple[str, float]]:
    """Seconds a step, of the whole recording where it has no steps."""
    steps = summary.step_times
    count = max(len(steps), 1)
    if steps:
        yield "trace.step_time", median(steps) / S
    parts = device.steps or (device.whole,) if device is not None else ()
    if device is not None and parts:
        each = len(parts) * S
        yield "trace.compute_time", sum(part.compute for part in parts) / each
        yield "trace.comm_time", sum(part.comm for part in parts) / each
        yield "trace.exposed_comm_time", sum(part.exposed_comm for part in parts) / each
        yield "trace.idle_time", sum(part.idle for part in parts) / each
        comm = sum(part.comm for part in parts)
        if comm:
            yield "trace.overlap_fraction", sum(part.overlap for part in parts) / comm
    if summary.sync_calls:
        yield "trace.sync_time", summary.sync_time / S / count
    if summary.allocate_calls:
        yield "trace.cuda_malloc_time", summary.allocate_time / S / count
        yield "trace.cuda_malloc_calls", summary.allocate_calls / count
    if summary.data_time >= 0:
        yield "trace.data_time", summary.data_time / S / count


def _plain(name: str) -> str:
    """A kernel's name without what would read as a value."""
    return name[:120].replace("=", ":").replace("\n", " ")


def _fact(name: str, value: Value, entity: str, path: str) -> Fact:
    return Fact(name, value, entity, Source("trace", path, 0, told(name, value, entity)), None, Quality.MEASURED)
