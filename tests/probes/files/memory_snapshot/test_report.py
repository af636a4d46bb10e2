"""What a person gets for a snapshot, alone and beside a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from tests.probes.files.memory_snapshot.snapshots import BUILD, GIB, LOSS, MIB, Allocator, snapshot, trained, write
from tests.views.test_json import valid

OOM = (
    "step:41 - actor/grad_norm:0.21 - perf/max_memory_allocated_gb:61.2\n"
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 3 has a total capacity of "
    "67.10 GiB of which 2.00 GiB is free. Including non-PyTorch memory, this process has 65.10 GiB memory in use. Of the "
    "allocated memory 25.00 GiB is allocated by PyTorch, and 39.00 GiB is reserved by PyTorch but unallocated.\n"
)


def roots(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, list[str]]]:
    run(["analyze", str(folder), "--json", "--facts"])
    report: dict[str, Any] = valid(capsys.readouterr().out)
    return [(f["cause"], f["entities"]) for f in report["findings"] if f["role"] == "root"]


def test_pieces_that_would_have_sufficed_are_fragmentation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpu = trained(3)
    gpu.oom(20 * GIB, 2 * GIB)
    write(tmp_path / "rank3.pickle", snapshot(gpu))
    assert roots(tmp_path, capsys) == [("allocator-fragmentation", ["rank:3"])]
    (tmp_path / "train.log").write_text(OOM)
    assert {cause for cause, _ in roots(tmp_path, capsys)} == {"allocator-fragmentation"}


def test_logits_that_fill_the_gpu_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpu = Allocator(reserved=30 * GIB)
    gpu.alloc(10 * GIB, BUILD)
    gpu.alloc(10 * GIB, LOSS)
    gpu.oom(20 * GIB, GIB, LOSS)
    write(tmp_path / "rank0.pickle", snapshot(gpu))
    assert [cause for cause, _ in roots(tmp_path, capsys)] == ["logits-vocab-spike"]


def test_a_leak_is_found_before_it_ends_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "rank0.pickle", snapshot(trained(24, leaked=256 * MIB)))
    assert [cause for cause, _ in roots(tmp_path, capsys)] == ["graph-retained-leak"]


def test_a_snapshot_of_a_healthy_job_is_healthy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "rank0.pickle", snapshot(trained(24)))
    assert roots(tmp_path, capsys) == []
