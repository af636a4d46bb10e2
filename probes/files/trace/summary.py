"""From the columns of a trace to its summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

from probes.files.trace.columns import Ints, Mark
from probes.files.trace.header import Header, header_of, rank_in_name, ranks_of
from probes.files.trace.idle import idle_of, launches
from probes.files.trace.model import Collectives, Device, Kernel, Parts, Summary
from probes.files.trace.names import ITEM_OPS, Call, Work, call_of, work_of
from probes.files.trace.quality import doubtful, remarks_of
from probes.files.trace.read import Trace, device_numbers, read_trace
from probes.files.trace.roles import roles_of
from probes.files.trace.sweep import Breakdown, Spans, timeline, union

Rows: TypeAlias = Ints | slice

TOP = 20
SAME = 200
MOST_COLLECTIVES = 4096
MOST_STEPS = 512
NAME = 160
STEP, DATA, GLOO = "ProfilerStep", "enumerate(DataLoader)", "gloo:"


def summarize(path: Path, shown: str) -> Summary:
    """The summary of the file at `path`, shown as `shown`; OSError when it cannot be opened."""
    trace = read_trace(path)
    header = header_of(trace.head)
    table = trace.device
    starts, durations = table.column("starts"), table.column("durations")
    doubts = doubtful(starts, durations, trace)
    good = doubts.good
    steps = _steps(trace.marks)
    devices = tuple(_devices(trace, header, good, steps)) if len(table) else ()
    calls = _calls(trace)
    data, collected = _host_waits(trace.marks)
    return Summary(
        rank=header.rank if header.rank is not None else rank_in_name(shown),
        world_size=header.world_size,
        host=header.host,
        base=header.base,
        first=trace.first if trace.last else 0,
        last=trace.last,
        events=trace.events,
        devices=devices,
        step_names=tuple(step.name[:NAME] for step in steps),
        step_times=tuple(step.duration for step in steps),
        launches=calls[Call.LAUNCH][1],
        sync_time=calls[Call.SYNC][0],
        sync_calls=calls[Call.SYNC][1],
        item_calls=sum(mark.name == ITEM_OPS[0] for mark in trace.marks),
        allocate_time=calls[Call.ALLOCATE][0],
        allocate_calls=calls[Call.ALLOCATE][1],
        data_time=data,
        collect_time=collected[0],
        collect_calls=collected[1],
        collectives=_collectives(trace, good),
        remarks=tuple(remarks_of(trace, header, doubts, bool(steps), len(devices))),
        readable=trace.events > trace.unreadable and trace.events > 0,
        columns=trace.device.bytes + trace.host.bytes,
        backend=header.backend,
    )


def _steps(marks: list[Mark]) -> list[Mark]:
    """Steps of the profiler in order, each once: an annotation is drawn again on the device's tracks."""
    found: dict[str, Mark] = {}
    for mark in marks:
        if mark.name.startswith(STEP) and mark.duration > 0:
            found.setdefault(mark.name, mark)
    return sorted(found.values(), key=lambda mark: mark.start)[:MOST_STEPS]


def _devices(trace: Trace, header: Header, good: np.ndarray, steps: list[Mark]) -> Iterator[Device]:
    table = trace.device
    numbers = device_numbers(trace)
    places = table.column("places")
    kinds = np.array([work_of(*key) for key in trace.names], dtype=np.int8)
    roles = _roles(trace, header)
    role_names = sorted({*roles.values(), "unknown"})
    known = {device.index: device.name for device in header.devices}
    waits = _waits(trace)
    recomputing = _recomputing(trace.marks)
    for number in np.unique(numbers):
        mine = (numbers[places] == number) & good
        if not mine.any():
            continue
        # The one device of most traces has all rows: they are looked at where they are.
        rows: Rows = slice(None) if mine.all() else np.flatnonzero(mine)
        names = table.column("names")[rows]
        work = kinds[names]
        starts = table.column("starts")[rows]
        durations = table.column("durations")[rows]
        ends = starts + durations
        spans = [union(starts[work == kind], ends[work == kind]) for kind in Work]
        line = timeline(*spans)
        launched = launches(
            trace.host.column("correlations"), trace.host.column("starts"), table.column("correlations")[rows]
        )
        idle = idle_of(line, starts, launched, waits)
        compute = durations[work == Work.COMPUTE]
        of_role = _role_of_rows(trace, rows, work, roles, role_names)
        exposed, total, by_step = {}, {}, {}
        for index, role in enumerate(role_names):
            of_it = of_role == index
            if of_it.any():
                own = union(starts[of_it], ends[of_it])
                total[role] = own.total
                alone = timeline(spans[0], own, Spans())
                exposed[role] = alone.breakdown().exposed_comm
                by_step[role] = tuple(alone.breakdown(s.start, s.start + s.duration).exposed_comm for s in steps)
        top, same, longest = _by_name(trace, names, durations, work)
        known_launch = launched >= 0
        lag = int(np.median(starts[known_launch] - launched[known_launch])) if known_launch.any() else -1
        yield Device(
            index=int(number),
            name=known.get(int(number), ""),
            whole=_parts(line.breakdown()),
            steps=tuple(_parts(line.breakdown(step.start, step.start + step.duration)) for step in steps),
            kernels=int((work != Work.MEMORY).sum()),
            median=int(np.median(compute)) if len(compute) else 0,
            top=top,
            exposed_by_role=exposed,
            comm_by_role=total,
            idle_host=idle.host if idle else -1,
            idle_sync=idle.sync if idle else -1,
            idle_other=idle.other if idle else -1,
            pageable=_pageable(trace, names, durations),
            launch_lag=lag,
            recomputed=_recomputed(recomputing, launched, durations, work),
            same=same,
            exposed_by_step=by_step,
            top_by_step=_top_by_step(longest, names, starts, durations, steps),
        )


def _parts(part: Breakdown) -> Parts:
    return Parts(part.span, part.busy, part.compute, part.comm, part.exposed_comm, part.exposed_memory)


def _by_name(
    trace: Trace, names: Ints, durations: Ints, work: np.ndarray
) -> tuple[tuple[Kernel, ...], dict[str, tuple[int, int]], Ints]:
    """The work that takes longest, and computation by name, to be compared over ranks: (time, calls); and the numbers
    of the names that take longest."""
    size = len(trace.names)
    count = np.bincount(names, minlength=size)
    # Sums of doubles are exact up to 2^53 ns, a hundred days.
    time = np.bincount(names, weights=durations, minlength=size).astype(np.int64)
    texts = [name for _, name in trace.names]
    order = np.argsort(-time, kind="stable")
    longest = order[:TOP][count[order[:TOP]] > 0]
    top = tuple(Kernel(texts[i][:NAME], int(time[i]), int(count[i])) for i in longest)
    compute = np.zeros(size, dtype=bool)
    compute[names[work == Work.COMPUTE]] = True
    same = {texts[i][:NAME]: (int(time[i]), int(count[i])) for i in order[: SAME * 2] if compute[i]}
    return top, dict(list(same.items())[:SAME]), longest


def _top_by_step(
    longest: Ints, names: Ints, starts: Ints, durations: Ints, steps: list[Mark]
) -> tuple[tuple[int, ...], ...]:
    """Time of work of each of the names `longest` in each step; work belongs to the step in which it begins."""
    if not steps or not len(names):
        return ()
    row = np.full(max(int(names.max()), int(longest.max())) + 1, -1, dtype=np.int64)
    row[longest] = np.arange(len(longest))
    begins = np.array([step.start for step in steps], dtype=np.int64)
    ends = begins + np.array([step.duration for step in steps], dtype=np.int64)
    place = np.searchsorted(begins, starts, "right") - 1
    mine = (place >= 0) & (row[names] >= 0)
    mine &= starts < ends[np.maximum(place, 0)]
    cell = row[names[mine]] * len(steps) + place[mine]
    time = np.bincount(cell, weights=durations[mine], minlength=len(longest) * len(steps)).astype(np.int64)
    return tuple(tuple(line) for line in time.reshape(len(longest), len(steps)).tolist())


def _pageable(trace: Trace, names: Ints, durations: Ints) -> int:
    """Time of copies from or to memory of the host that is not pinned."""
    slow = np.array(["pageable" in name.lower() for _, name in trace.names], dtype=bool)
    return int(durations[slow[names]].sum())


def _waits(trace: Trace) -> Spans:
    """When a thread of the host waited for the device."""
    sync = np.array([call_of(name) is Call.SYNC for name in trace.calls] or [False], dtype=bool)
    mine = sync[trace.host.column("names")] if len(trace.host) else np.zeros(0, dtype=bool)
    starts = trace.host.column("starts")[mine]
    return union(starts, starts + trace.host.column("durations")[mine])


def _recomputing(marks: list[Mark]) -> Spans | None:
    """When activations were computed again, where stacks of Python were recorded (torch/utils/checkpoint.py)."""
    found = [mark for mark in marks if "recompute_fn" in mark.name]
    if not found:
        return None
    starts = np.array([mark.start for mark in found], dtype=np.int64)
    return union(starts, starts + np.array([mark.duration for mark in found], dtype=np.int64))


def _recomputed(spans: Spans | None, launched: Ints, durations: Ints, work: np.ndarray) -> int:
    if spans is None:
        return -1
    place = np.searchsorted(spans.ends, launched)
    inside = (place < len(spans.ends)) & (launched >= 0) & (work == Work.COMPUTE)
    inside &= spans.starts[np.minimum(place, len(spans.ends) - 1)] <= launched
    return int(durations[inside].sum())


def _roles(trace: Trace, header: Header) -> dict[str, str]:
    groups = {group.name: (group.description, group.ranks) for group in header.groups}
    carried: dict[str, list[str]] = defaultdict(list)
    for call in trace.collectives:
        described = call.description or groups.get(call.group, ("", ()))[0]
        groups[call.group] = (described, ranks_of(call.ranks) or groups.get(call.group, ("", ()))[1])
        carried[call.group].append(call.name)
    return roles_of(groups, carried, [mark.name for mark in trace.marks])


def _role_of_rows(trace: Trace, rows: Rows, work: np.ndarray, roles: dict[str, str], names: list[str]) -> np.ndarray:
    """The index of the role of each row; -1 for what is no communication."""
    of_row = np.full(len(trace.device), -1, dtype=np.int8)
    if trace.collectives:
        of_kind = np.array([names.index(roles.get(call.group, "unknown")) for call in trace.collectives], dtype=np.int8)
        called, kinds, _ = trace.called.columns()
        of_row[called] = of_kind[kinds]
    found = of_row[rows].copy()
    comm = work == Work.COMM
    found[comm & (found < 0)] = names.index("unknown")
    found[~comm] = -1
    return found


def _calls(trace: Trace) -> dict[Call, tuple[int, int]]:
    """Time and number of the calls of each kind; a wait of two threads at once counts once for each."""
    found = dict.fromkeys(Call, (0, 0))
    if not len(trace.host):
        return found
    kinds = np.array([call_of(name) for name in trace.calls], dtype=np.int8)[trace.host.column("names")]
    durations = trace.host.column("durations")
    for call in Call:
        mine = durations[kinds == call]
        found[call] = (int(np.maximum(mine, 0).sum()), len(mine))
    return found


def _host_waits(marks: list[Mark]) -> tuple[int, tuple[int, int]]:
    """Time for the next batch, and time and number of garbage collections; -1 where nothing shows them."""
    data = [mark for mark in marks if DATA in mark.name] or [mark for mark in marks if "dataloader.py" in mark.name]
    collected = [mark for mark in marks if " collect" in mark.name or "gc.collect" in mark.name]
    return _length(data) if data else -1, (_length(collected) if collected else -1, len(collected))


def _length(marks: list[Mark]) -> int:
    starts = np.array([mark.start for mark in marks], dtype=np.int64)
    return union(starts, starts + np.array([max(mark.duration, 0) for mark in marks], dtype=np.int64)).total


def _on_the_host(marks: list[Mark]) -> Collectives:
    """Collectives of a job without GPUs: gloo draws one range for each, named `gloo:all_reduce`, without its group."""
    found = sorted((mark for mark in marks if mark.name.startswith(GLOO)), key=lambda mark: mark.start)
    found = [mark for mark in found if mark.duration >= 0][:MOST_COLLECTIVES]
    names = list(dict.fromkeys(mark.name.removeprefix(GLOO).split(" ")[0][:80] for mark in found))
    return Collectives(
        tuple((name, "", "", 0, "", -1, -1) for name in names),
        tuple(names.index(mark.name.removeprefix(GLOO).split(" ")[0][:80]) for mark in found),
        (-1,) * len(found),
        tuple(mark.start for mark in found),
        tuple(mark.duration for mark in found),
    )


def _collectives(trace: Trace, good: np.ndarray) -> Collectives:
    """Collectives in order of time. Traces without their arguments give kernels by name."""
    starts, durations = trace.device.column("starts"), trace.device.column("durations")
    kinds: list[tuple[str, str, str, int, str, int, int]] = [
        (call.name, call.group, call.ranks, call.size, call.dtype, call.sent, call.received)
        for call in trace.collectives
    ]
    rows, used, sequences = trace.called.columns()
    if not len(rows) and len(trace.device):
        comm = np.array([work_of(*key) is Work.COMM for key in trace.names])
        kinds = [(name[:80], "", "", 0, "", -1, -1) for _, name in trace.names]
        names = trace.device.column("names")
        rows = np.flatnonzero(comm[names])
        used, sequences = names[rows].astype(np.int64), np.full(len(rows), -1, dtype=np.int64)
    elif not len(trace.device):
        return _on_the_host(trace.marks)
    kept = np.flatnonzero(good[rows])
    kept = kept[np.argsort(starts[rows[kept]], kind="stable")][:MOST_COLLECTIVES]
    told, place = np.unique(used[kept], return_inverse=True)
    return Collectives(
        tuple(kinds[kind] for kind in told.tolist()),
        tuple(place.tolist()),
        tuple(sequences[kept].tolist()),
        tuple(starts[rows[kept]].tolist()),
        tuple(durations[rows[kept]].tolist()),
    )
