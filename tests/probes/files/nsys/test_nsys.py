"""Exports of Nsight Systems: whole, with tables missing, damaged, and hostile."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from probes.files.nsys import is_nsys, read_nsys
from tests.views.test_json import valid

DATA = os.environ.get("PDOCTOR_DATA", "")
REAL = Path(DATA) / "nsys" / "h100_2gpu_1s.sqlite"
NAMES = ("start", "end", "deviceId", "globalPid")
PID = 7 << 24

Row = tuple[int, int, int, int, str]


def export(
    path: Path, kernels: Sequence[Row] = (), copies: Sequence[Row] = (), meta: bool = True, more: Sequence[str] = ()
) -> Path:
    """Writes an export; rows are (start, end, GPU, process, name), and of copies `pageable` is a name."""
    texts = sorted({row[4] for row in kernels})
    with closing(sqlite3.connect(path)) as base:
        if meta:
            base.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
        base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(texts))
        if kernels:
            base.execute(
                'CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, globalPid, demangledName, shortName)'
            )
            rows = [(*row[:4], texts.index(row[4]), texts.index(row[4])) for row in kernels]
            base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?)", rows)
        if copies:
            base.execute(
                'CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, "end", deviceId, globalPid, srcKind, dstKind)'
            )
            rows = [(*row[:4], int(row[4] != "pageable"), 2) for row in copies]
            base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?)", rows)
        for statement in more:
            base.execute(statement)
        base.commit()
    return path


def told(path: Path, entity: str) -> dict[str, Any]:
    return {fact.name: fact.value for fact in read_nsys([(path, path.name)]).facts if fact.entity == entity}


def remarks(path: Path) -> str:
    return " ".join(text for texts in read_nsys([(path, path.name)]).warnings.values() for text in texts)


GEMM, REDUCE = "void gemm_kernel<float>", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def test_times_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    kernels = [(0, 1_000, 0, PID, GEMM), (500, 2_501, 0, PID, REDUCE), (3_000, 3_001, 0, PID, GEMM)]
    path = export(tmp_path / "a.sqlite", kernels, [(2_000, 2_700, 0, PID, "pageable")])
    facts = told(path, "gpu:?/0")
    assert facts["trace.span_us"] == 3.001
    assert facts["trace.compute_us"] == 1.001
    assert facts["trace.comm_us"] == 2.001
    assert facts["trace.comm_comp_overlap_us"] == 0.5
    assert facts["trace.exposed_comm_us"] == 1.501
    assert facts["trace.exposed_mem_us"] == 0.199
    assert facts["trace.busy_us"] == 2.701
    assert facts["trace.idle_us"] == 0.3
    assert facts["trace.pageable_copy_share"] == 700 / 3_001


def test_each_gpu_and_the_rank_of_the_name_are_told(tmp_path: Path) -> None:
    path = export(tmp_path / "rank4.sqlite", [(0, 100, 0, PID, GEMM), (0, 300, 1, PID, GEMM)])
    assert told(path, "gpu:?/0")["trace.compute_us"] == 0.1
    assert told(path, "gpu:?/1") == told(path, "rank:4")
    assert "trace.sync_calls" not in told(path, "rank:4")


def test_tables_that_are_not_there_cost_nothing(tmp_path: Path) -> None:
    copies = export(tmp_path / "copies.sqlite", copies=[(0, 100, 0, PID, "pinned")], meta=False)
    assert not is_nsys(copies)
    bare = export(tmp_path / "bare.sqlite")
    assert is_nsys(bare)
    assert told(bare, "gpu:?/0") == {}
    assert "holds no work of any GPU" in remarks(bare)


def test_rows_without_sense_are_left_out_and_counted(tmp_path: Path) -> None:
    odd = [(10, 5, 0, PID, GEMM), (-5, 5, 0, PID, GEMM), (0, 1 << 62, 0, PID, GEMM)]
    path = export(tmp_path / "a.sqlite", [(0, 100, 0, PID, GEMM), *odd])
    assert told(path, "gpu:?/0")["trace.span_us"] == 0.1
    assert "3 rows have no time" in remarks(path)


def test_several_processes_on_one_gpu_are_remarked(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", [(0, 100, 0, PID, GEMM), (50, 200, 0, 2 * PID, GEMM)])
    assert "2 processes use GPU 0" in remarks(path)


def test_a_view_in_the_place_of_a_table_is_not_run(tmp_path: Path) -> None:
    endless = (
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT 1 FROM n) "
        'SELECT start, 2 AS "end", 0 AS deviceId FROM n'
    )
    path = export(tmp_path / "a.sqlite", copies=[(0, 100, 0, PID, "pinned")], more=[endless])
    assert told(path, "gpu:?/0")["trace.exposed_mem_us"] == 0.1


def test_a_damaged_database_costs_one_remark(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", [(n, n + 1, 0, PID, GEMM) for n in range(5000)])
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    assert told(path, "gpu:?/0") == {}
    assert not is_nsys(path) or "cannot be read" in remarks(path)


def test_the_file_is_not_changed_and_nothing_is_written_beside_it(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", [(0, 100, 0, PID, GEMM)])
    before = path.read_bytes()
    told(path, "gpu:?/0")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.sqlite"]


def test_the_command_reads_an_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(tmp_path / "a.sqlite", [(0, 100, 0, PID, GEMM)])
    run(["analyze", str(tmp_path), "--json", "--facts"])
    report: dict[str, Any] = valid(capsys.readouterr().out)
    assert [given["kind"] for given in report["inputs"]] == ["nsys"]
    assert "trace.compute_us" in report["facts"]


@pytest.mark.skipif(not DATA or not REAL.exists(), reason="PDOCTOR_DATA names no folder with a real export")
def test_a_real_job_that_copies_most_of_the_time() -> None:
    for index in (0, 1):
        facts = told(REAL, f"gpu:modal/{index}")
        assert round(facts["trace.exposed_memory_share"], 2) == 0.97
        assert facts["trace.kernels"] == 1721
        assert facts["trace.busy_us"] + facts["trace.idle_us"] == pytest.approx(facts["trace.span_us"], abs=1e-6)


@pytest.mark.skipif(not DATA or not REAL.exists(), reason="PDOCTOR_DATA names no folder with a real export")
def test_the_report_says_that_it_copies(capsys: pytest.CaptureFixture[str]) -> None:
    run(["analyze", str(REAL), "--json"])
    report: dict[str, Any] = valid(capsys.readouterr().out)
    assert "PRF036" in {finding["rule"] for finding in report["findings"]}


def test_gpus_without_a_rank_are_told_as_ranks_of_their_own(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", [(0, 100, 0, PID, GEMM), (0, 300, 1, PID, GEMM)])
    assert told(path, "rank:0")["trace.compute_us"] == 0.1
    assert told(path, "rank:1")["trace.compute_us"] == 0.3
    assert "its GPUs count as ranks 0 to 1 here" in remarks(path)
