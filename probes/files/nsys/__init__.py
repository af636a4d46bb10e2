"""Reads exports of Nsight Systems (`nsys export --type sqlite`): where the time of each GPU went.

Tables are written only when they have rows, and their columns change with the version: each is looked for. Format:
Nsight Systems user guide, "SQLite schema reference". The facts are those of the PyTorch profiler's traces.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doctor.facts.model import Fact
from probes.files.flight_recorder.ranks import UNKNOWN, rank_in_name
from probes.files.nsys.database import columns, opened

__all__ = ["NsysReading", "is_nsys", "read_nsys"]

MAGIC = b"SQLite format 3\x00"
MARKS = ("META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME", "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS")

NOT_READ = ("trace.launches", "trace.sync_calls", "trace.sync_share", "trace.item_calls", "trace.item_calls_per_step")
"""Facts of calls on the host, which are not read here."""


@dataclass(slots=True)
class NsysReading:
    """What the exports say; the rank of each file; remarks by file."""

    facts: list[Fact] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def says(self, name: str, text: str) -> None:
        self.warnings.setdefault(name, []).append(f"{name}: {text}")


def is_nsys(path: Path) -> bool:
    """Is this a database with tables of Nsight Systems?"""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
        with opened(path) as base:
            return any(columns(base, table) for table in MARKS)
    except (OSError, sqlite3.Error):
        return False


def read_nsys(files: Sequence[tuple[Path, str]]) -> NsysReading:
    """Facts of the GPUs in `files`, each of which `is_nsys` takes for an export."""
    from msgspec.structs import replace

    from probes.files.nsys.work import device_of, read_work
    from probes.files.trace.facts import file_facts, job_facts
    from probes.files.trace.model import Summary

    reading = NsysReading()
    told: list[tuple[str, Summary]] = []
    unnamed = 0
    for path, name in files:
        try:
            with opened(path) as base:
                profile, host = read_work(base), _host(base)
        except (OSError, sqlite3.Error, OverflowError) as error:
            reading.says(name, f"cannot be read: {error}")
            continue
        if profile.damaged:
            reading.says(name, f"{profile.damaged} rows have no time or end before they start: they were left out")
        if profile.cut:
            reading.says(name, "has more than 40,000,000 rows of work: the rest was left out")
        if profile.graphs:
            reading.says(name, "graphs were recorded as a whole: communication in them counts as computation")
        for number, gpu in profile.gpus.items():
            if len(gpu.processes) > 1:
                reading.says(name, f"{len(gpu.processes)} processes use GPU {number}: they are told together")
        if not profile.gpus:
            reading.says(name, "holds no work of any GPU: record with --trace=cuda")
            continue
        rank = rank_in_name(name) if "rank" in name.lower() else UNKNOWN
        devices = tuple(device_of(number, profile.gpus[number]) for number in sorted(profile.gpus))
        rows = sum(device.kernels for device in devices)
        summary = Summary(rank if rank != UNKNOWN else None, None, host, 0, 0, 0, rows, devices)
        told.append((name, summary))
        if summary.rank is not None:
            reading.ranks[name] = summary.rank
        if summary.rank is not None:
            facts = list(file_facts(summary, name, summary.rank, host or "?"))
        else:
            # Ranks are compared by the rules: a GPU whose rank nothing names is told under a number of its own.
            facts = []
            for place, device in enumerate(devices, unnamed):
                facts += file_facts(replace(summary, devices=(device,)), name, place, host or "?")
            last = unnamed + len(devices) - 1
            reading.says(name, f"names no rank: its GPUs count as ranks {unnamed} to {last} here")
            unnamed = last + 1
        reading.facts += [fact for fact in facts if fact.name not in NOT_READ]
    reading.facts += job_facts(told)
    return reading


def _host(base: sqlite3.Connection) -> str:
    if not {"name", "value"} <= columns(base, "TARGET_INFO_SYSTEM_ENV"):
        return ""
    row = base.execute("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name='Hostname' LIMIT 1").fetchone()
    return str(row[0])[:200] if row and row[0] else ""
