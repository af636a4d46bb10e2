"""Recordings of four ranks with GPUs, diagnosed as a whole: one fault each, and none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.session.analyze import analyze_paths

GIB, MIB = 1 << 30, 1 << 20
RANKS, STEPS = 4, 120


def healthy(rank: int, step: int) -> dict[str, Any]:
    memory = {"allocated": 30 * GIB + (step % 5) * 300 * MIB, "allocated_peak": 50 * GIB, "inactive_split": GIB}
    memory |= {"reserved": 55 * GIB, "reserved_peak": 55 * GIB, "retries": 0, "ooms": 0}
    waits = {"data": 0.2, "data_device": 0.002, "between": 0.21}
    return {"seconds": 0.5 + 0.01 * (step % 3), "passes": 4, "syncs": 1, **waits, **memory}


def leaks(rank: int, step: int) -> dict[str, Any]:
    more = 40 * MIB * step if rank == 1 else 0
    return healthy(rank, step) | {"allocated": 30 * GIB + (step % 5) * 100 * MIB + more}


def retries(rank: int, step: int) -> dict[str, Any]:
    return healthy(rank, step) | {"retries": step // 10 if rank == 2 else 0}


def starves(rank: int, step: int) -> dict[str, Any]:
    return healthy(rank, step) | ({"data_device": 0.3} if rank == 3 else {})


def reduces(rank: int, step: int) -> dict[str, Any]:
    return healthy(rank, step) | {"syncs": 4}


def grows_once(rank: int, step: int) -> dict[str, Any]:
    return healthy(rank, step) | {"allocated": 30 * GIB + (6 * GIB if step > 3 else 0)}


def record(folder: Path, what: Callable[[int, int], dict[str, Any]]) -> None:
    for rank in range(RANKS):
        device = {"index": rank, "name": "NVIDIA H100 80GB HBM3", "memory": 80 * GIB}
        head = {"pdoctor_recording": 1, "rank": rank, "world_size": RANKS, "local_rank": rank, "host": "node-a"}
        lines = [head | {"pid": 100 + rank, "at": 1.0, "wrapped": ["ddp"], "parameters": 10**9, "device": device}]
        lines += [{"record": "step", "step": n, "at": 1.0 + n, **what(rank, n)} for n in range(STEPS)]
        (folder / f"rank{rank}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("what", "named"),
    [
        (healthy, set()),
        (grows_once, set()),
        (leaks, {"MEM017"}),
        (retries, {"MEM023"}),
        (starves, {"PRF014"}),
        (reduces, {"PRF010"}),
    ],
)
def test_what_is_named(what: Callable[[int, int], dict[str, Any]], named: set[str], tmp_path: Path) -> None:
    record(tmp_path, what)
    report = analyze_paths([tmp_path])
    assert {finding.rule.id for finding in report.diagnosis.roots} == named
    assert {given.kind for given in report.inputs} == {"recording"}


def test_a_damaged_file_costs_its_own_rank_alone(tmp_path: Path) -> None:
    record(tmp_path, reduces)
    path = tmp_path / "rank0.jsonl"
    path.write_text(path.read_text()[:400] + "\n\0\0garbage\n")
    report = analyze_paths([tmp_path])
    assert [finding.rule.id for finding in report.diagnosis.roots] == ["PRF010"]
    assert any("damaged" in note.values["text"] for note in report.all_notes)
