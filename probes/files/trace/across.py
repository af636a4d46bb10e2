"""Ranks side by side: the same collective on each, who came last, and how fast it was once all were there.

A collective ends at about the same time everywhere, so on each rank it lasts from that rank's arrival. The rank on
which it is shortest came last, and that shortest duration is the collective itself; what it lasts longer on the others
is their waiting. No clock is needed for that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from doctor.facts.model import Fact, Quality, Source, Value
from probes.files.trace.columns import Ints
from probes.files.trace.header import ranks_of
from probes.files.trace.model import Summary
from probes.files.trace.roles import ALL_TO_ALL, POINT_TO_POINT
from probes.files.trace.words import told

S = 1e9
LATE, LATE_SHARE = 50_000, 0.2
"""A rank was late to a collective when the next to last waited so many ns longer, and so large a share of it longer."""
FEWEST, KINDS = 5, 20
LARGE = 128 << 20
"""Bytes from which the rate of a collective says something of the links (NVIDIA/nccl-tests#212)."""
BYTES = {
    **dict.fromkeys(("double", "long", "int64", "float64", "complexfloat"), 8),
    **dict.fromkeys(("float", "int", "float32", "int32"), 4),
    **dict.fromkeys(("half", "bfloat16", "short", "float16"), 2),
    **dict.fromkeys(("byte", "char", "bool", "int8", "uint8"), 1),
}
"""Bytes of an element, by the names of c10::ScalarType."""
CLOCK = 1_000_000
"""A difference of clocks is told from a millisecond."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One file with the rank it counts as."""

    rank: int
    path: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class Matched:
    """The calls of one group that all its ranks have: rows are ranks, columns calls."""

    ranks: tuple[int, ...]
    kinds: tuple[tuple[str, int, str, tuple[int, ...], tuple[int, ...]], ...]
    durations: Ints
    ends: Ints


def across_facts(files: Sequence[Ranked]) -> Iterator[Fact]:
    """Facts that only several ranks together give."""
    paths = {file.rank: file.path for file in files}
    matched = [found for found in _matched(files) if found.durations.size]
    if not matched:
        return
    late: dict[int, int] = defaultdict(int)
    lost: dict[int, int] = defaultdict(int)
    calls: dict[int, int] = defaultdict(int)
    offsets: dict[int, list[int]] = defaultdict(list)
    skews: list[int] = []
    for group in matched:
        order = np.sort(group.durations, axis=0)
        margin = order[1] - order[0]
        last = group.durations.argmin(axis=0)
        held = (margin > LATE) & (margin > LATE_SHARE * order[1])
        skews += [int(value) for value in order[-1] - order[0]]
        middle = np.median(group.ends, axis=0)
        for row, rank in enumerate(group.ranks):
            mine = held & (last == row)
            late[rank] += int(mine.sum())
            lost[rank] += int(margin[mine].sum())
            calls[rank] += len(last)
            offsets[rank] += [int(value) for value in group.ends[row] - middle]
    lengths = {file.rank: file.summary.last - file.summary.first for file in files}
    for rank, count in calls.items():
        if count >= FEWEST:
            entity = f"rank:{rank}"
            yield _fact("trace.late_share", late[rank] / count, entity, paths[rank])
            yield _fact("trace.late_time", lost[rank] / S, entity, paths[rank])
            if lengths[rank] > 0:
                yield _fact("trace.late_time_share", lost[rank] / lengths[rank], entity, paths[rank])
    path = paths[matched[0].ranks[0]]
    if skews:
        yield _fact("trace.arrival_skew", median(skews) / S, "job", path)
        yield _fact("trace.collectives_matched", len(skews), "job", path)
    drift = {rank: int(median(values)) for rank, values in offsets.items()}
    widest = max(drift.values(), default=0) - min(drift.values(), default=0)
    if widest > CLOCK:
        yield _fact("trace.clock_offset", widest / S, "job", path)
    yield _fact("trace.collective_times", _times(matched), "job", path)
    yield from _rates(matched, path)
    yield from _compute(files)
    yield from _tokens(matched, path)


def _matched(files: Sequence[Ranked]) -> Iterator[Matched]:
    """Calls by group, put side by side by their number in the group, else by their order when all have as many."""
    groups: dict[str, dict[int, list[tuple[int, int, int, int]]]] = defaultdict(lambda: defaultdict(list))
    summaries = {file.rank: file.summary for file in files}
    for file in files:
        calls = file.summary.collectives
        for kind, sequence, start, duration in zip(
            calls.kind, calls.sequence, calls.start, calls.duration, strict=True
        ):
            name, group, ranks, *_ = calls.kinds[kind]
            if not POINT_TO_POINT.match(name) and "SendRecv" not in name:
                groups[ranks or group][file.rank].append((kind, sequence, start, duration))
    for key, by_rank in groups.items():
        members = set(ranks_of(key)) or set(by_rank)
        present = sorted(members & set(by_rank))
        if len(present) < 2:
            continue
        aligned = _aligned({rank: by_rank[rank] for rank in present}, summaries)
        if aligned is not None:
            yield aligned


def _aligned(calls: dict[int, list[tuple[int, int, int, int]]], summaries: dict[int, Summary]) -> Matched | None:
    ranks = tuple(calls)
    if all(call[1] >= 0 for own in calls.values() for call in own):
        numbered = {rank: {call[1]: call for call in own} for rank, own in calls.items()}
        shared = sorted(set.intersection(*(set(own) for own in numbered.values())))
        rows = [[numbered[rank][number] for number in shared] for rank in ranks]
    elif len({len(own) for own in calls.values()}) == 1:
        rows = [calls[rank] for rank in ranks]
    else:
        return None
    kinds = [
        [summaries[rank].collectives.kinds[call[0]] for call in row] for rank, row in zip(ranks, rows, strict=True)
    ]
    same = [column for column in range(len(rows[0])) if len({row[column][0] for row in kinds}) == 1]
    if len(same) * 2 < len(rows[0]):
        return None
    bases = [summaries[rank].base for rank in ranks]
    durations = np.array([[row[column][3] for column in same] for row in rows], dtype=np.int64)
    ends = np.array(
        [[row[c][2] + row[c][3] + base for c in same] for row, base in zip(rows, bases, strict=True)], dtype=np.int64
    )
    described = tuple(
        (
            kinds[0][c][0],
            kinds[0][c][3] or len(ranks),
            kinds[0][c][4],
            tuple(row[c][5] for row in kinds),
            tuple(row[c][6] for row in kinds),
        )
        for c in same
    )
    return Matched(ranks, described, durations, ends)


def bus_factor(operation: str, size: int) -> float:
    """Bytes on the busiest link over bytes of the call (NCCL tests, doc/PERFORMANCE.md)."""
    text = re.sub(r"[^a-z]", "", operation.lower())
    if "allreduce" in text:
        return 2 * (size - 1) / size
    if any(word in text for word in ("allgather", "reducescatter", "alltoall")):
        return (size - 1) / size
    return 1.0


def _times(matched: Sequence[Matched]) -> tuple[str, ...]:
    """The median of each kind of collective over its calls, each from the rank that came last; the longest first."""
    found: dict[str, list[int]] = defaultdict(list)
    for group in matched:
        for (name, size, *_), duration in zip(group.kinds, group.durations.min(axis=0), strict=True):
            found[f"{name[:80]} over {size}"].append(int(duration))
    ordered = sorted(found.items(), key=lambda entry: -sum(entry[1]))[:KINDS]
    return tuple(f"{kind}={median(values) / S:g}" for kind, values in ordered)


def _rates(matched: Sequence[Matched], path: str) -> Iterator[Fact]:
    """Bus bandwidth of large collectives, from the shortest of all ranks; the median over the calls of a kind."""
    found: dict[str, list[float]] = defaultdict(list)
    for group in matched:
        shortest = group.durations.min(axis=0)
        for (name, size, dtype, sent, received), duration in zip(group.kinds, shortest, strict=True):
            width = BYTES.get(dtype.lower(), 0)
            volume = max(*sent, *received) * width
            if width and volume >= LARGE and size > 1 and duration > 0:
                key = re.sub(r"[^a-z]", "", name.lower()).replace("base", "").replace("tensor", "")
                found[key].append(volume / (int(duration) / S) * bus_factor(name, size))
    for word, name in (
        ("allreduce", "trace.all_reduce_bus_rate"),
        ("allgather", "trace.all_gather_bus_rate"),
        ("reducescatter", "trace.reduce_scatter_bus_rate"),
        ("alltoall", "trace.all_to_all_bus_rate"),
    ):
        rates = [rate for key, values in found.items() if word in key for rate in values]
        if rates:
            yield _fact(name, median(rates), "job", path)


def _compute(files: Sequence[Ranked]) -> Iterator[Fact]:
    """How much longer the same computation takes on a rank than on the others: kernels of one name that all ranks
    called equally often."""
    same = {}
    for file in files:
        device = max(file.summary.devices, key=lambda found: found.whole.busy, default=None)
        if device is not None:
            same[file.rank] = device.same
    if len(same) < 2:
        return
    shared = set.intersection(*(set(kernels) for kernels in same.values()))
    shared = {name for name in shared if len({kernels[name][1] for kernels in same.values()}) == 1}
    if not shared:
        return
    times = {rank: sum(kernels[name][0] for name in shared) for rank, kernels in same.items()}
    paths = {file.rank: file.path for file in files}
    for rank, time in times.items():
        others = median(value for other, value in times.items() if other != rank)
        if others > 0:
            yield _fact("trace.same_compute_ratio", time / others, f"rank:{rank}", paths[rank])


def _tokens(matched: Sequence[Matched], path: str) -> Iterator[Fact]:
    """What all-to-alls bring the ranks: most over mean, of all calls added up."""
    worst: list[float] = []
    for group in matched:
        brought = np.zeros(len(group.ranks))
        for name, _, _, _, received in group.kinds:
            if ALL_TO_ALL.search(name) and min(received) >= 0:
                brought += np.array(received, dtype=np.float64)
        if brought.sum() > 0 and len({size for _, size, *_ in group.kinds} & {len(group.ranks)}):
            worst.append(float(brought.max() / brought.mean()))
    if worst:
        yield _fact("trace.all_to_all_max_over_mean", max(worst), "job", path)


def _fact(name: str, value: Value, entity: str, path: str) -> Fact:
    return Fact(name, value, entity, Source("trace", path, 0, told(name, value, entity)), None, Quality.MEASURED)
