"""The work of each GPU in an export: kernels, graphs and copies, as columns of times in whole nanoseconds."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from probes.files.nsys.database import columns
from probes.files.trace.model import Device, Kernel, Parts
from probes.files.trace.names import COMM, Work
from probes.files.trace.sweep import Spans, timeline, union

TABLES = (
    ("CUPTI_ACTIVITY_KIND_KERNEL", Work.COMPUTE),
    ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", Work.COMPUTE),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", Work.MEMORY),
    ("CUPTI_ACTIVITY_KIND_MEMSET", Work.MEMORY),
)
PAGEABLE = 0
"""ENUM_CUDA_MEM_KIND: memory of the host that is not pinned."""

MOST_ROWS = 40_000_000
TOP = 20
LATEST = 1 << 60
BATCH = 65_536


@dataclass(slots=True)
class Times:
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))

    def spans(self) -> Spans:
        return union(np.frombuffer(self.starts, dtype=np.int64), np.frombuffer(self.ends, dtype=np.int64))


@dataclass(slots=True)
class Gpu:
    """Work of one GPU so far."""

    times: dict[Work, Times] = field(default_factory=lambda: {work: Times() for work in Work})
    by_name: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    pageable: Times = field(default_factory=Times)
    processes: set[int] = field(default_factory=set)
    computing: array[int] = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class Profile:
    """What was read: GPUs by their number, and rows that make no sense or were too many."""

    gpus: dict[int, Gpu] = field(default_factory=dict)
    damaged: int = 0
    cut: bool = False
    graphs: bool = False


def read_work(base: sqlite3.Connection) -> Profile:
    """Goes over the tables of work once; those that an export does not have are passed over."""
    profile = Profile()
    names = _names(base)
    rows = 0
    for table, work in TABLES:
        there = columns(base, table)
        if not {"start", "end", "deviceId"} <= there:
            continue
        name = next((c for c in ("demangledName", "shortName") if c in there), "NULL")
        pid = "globalPid" if "globalPid" in there else "NULL"
        kinds = "srcKind, dstKind" if {"srcKind", "dstKind"} <= there else "NULL, NULL"
        cursor = base.execute(f'SELECT start, "end", deviceId, {name}, {pid}, {kinds} FROM "{table}"')
        while batch := cursor.fetchmany(BATCH):
            rows += len(batch)
            if rows > MOST_ROWS:
                profile.cut = True
                break
            profile.graphs |= table.endswith("GRAPH_TRACE")
            _take(profile, batch, work, names)
    return profile


def _take(profile: Profile, batch: list[tuple[object, ...]], work: Work, names: dict[int, tuple[str, bool]]) -> None:
    for start, end, number, name, pid, source, target in batch:
        if not (type(start) is int and type(end) is int and type(number) is int and 0 <= start <= end < LATEST):
            profile.damaged += 1
            continue
        gpu = profile.gpus.get(number) or profile.gpus.setdefault(number, Gpu())
        kind = work
        if type(pid) is int:
            gpu.processes.add(pid)
        if work is Work.COMPUTE:
            title, comm = names.get(name, ("a graph of kernels", False)) if type(name) is int else ("kernels", False)
            kind = Work.COMM if comm else Work.COMPUTE
            gpu.by_name[title] += end - start
            gpu.calls[title] += 1
            if not comm:
                gpu.computing.append(end - start)
        elif PAGEABLE in (source, target):
            gpu.pageable.starts.append(start)
            gpu.pageable.ends.append(end)
        times = gpu.times[kind]
        times.starts.append(start)
        times.ends.append(end)


def _names(base: sqlite3.Connection) -> dict[int, tuple[str, bool]]:
    """Texts by their number, and whether each names communication. Only those that kernels use are taken."""
    used: set[int] = set()
    there = columns(base, "CUPTI_ACTIVITY_KIND_KERNEL")
    column = next((c for c in ("demangledName", "shortName") if c in there), "")
    if not column or not {"id", "value"} <= columns(base, "StringIds"):
        return {}
    used |= {row[0] for row in base.execute(f"SELECT DISTINCT {column} FROM CUPTI_ACTIVITY_KIND_KERNEL")}
    rows = base.execute("SELECT id, substr(value, 1, 400) FROM StringIds")
    return {number: (str(text), bool(COMM.search(str(text)))) for number, text in rows if number in used}


def device_of(number: int, gpu: Gpu) -> Device:
    """The GPU in the form of a profiler's trace, so that the same facts are told of it."""
    compute, comm, memory = (gpu.times[work].spans() for work in (Work.COMPUTE, Work.COMM, Work.MEMORY))
    whole = timeline(compute, comm, memory).breakdown()
    parts = Parts(whole.span, whole.busy, whole.compute, whole.comm, whole.exposed_comm, whole.exposed_memory)
    top = tuple(Kernel(name, time, gpu.calls[name]) for name, time in gpu.by_name.most_common(TOP))
    middle = int(np.median(np.frombuffer(gpu.computing, dtype=np.int64))) if gpu.computing else 0
    pageable = gpu.pageable.spans().total
    kernels = sum(gpu.calls.values())
    return Device(number, "", parts, (), kernels, middle, top, {}, {}, pageable=pageable)
