"""Dumps, snapshots and profiles in an archive are read as in a folder; checkpoints beside them are passed over."""

from __future__ import annotations

import pickle
import tarfile
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from tests.probes.files.flight_recorder.dumps import world
from tests.probes.files.memory_snapshot.snapshots import snapshot, trained, write
from tests.probes.files.nsys.test_nsys import GEMM, PID, export
from tests.views.test_json import valid


def kinds(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[set[str], list[str]]:
    run(["analyze", str(path), "--json"])
    report: dict[str, Any] = valid(capsys.readouterr().out)
    return {given["kind"] for given in report["inputs"]}, [
        f["cause"] for f in report["findings"] if f["role"] == "root"
    ]


def test_every_kind_of_dump_is_found_in_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "job"
    job = world()
    job.call((0, 1, 2), "all_reduce", "0", done=False)
    job.write(folder / "fr")
    write(folder / "snapshot_rank0.pickle", snapshot(trained(3)))
    export(folder / "profile.sqlite", [(0, 100, 0, PID, GEMM)])
    (folder / "optimizer.pt").write_bytes(pickle.dumps({"state": list(range(1000))}, protocol=2))
    with tarfile.open(tmp_path / "job.tar.gz", "w:gz") as archive:
        archive.add(folder, "job")
    found, roots = kinds(tmp_path / "job.tar.gz", capsys)
    assert found == {"flight_recorder", "memory_snapshot", "nsys"}
    assert roots == ["rank-stuck-on-cpu"]
