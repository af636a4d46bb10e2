"""Two kinds of recordings of one rank in one folder."""

from __future__ import annotations

from pathlib import Path

from doctor.session.analyze import analyze_paths
from doctor.session.report import Report
from tests.probes.files.nsys.test_nsys import PID, export
from tests.probes.files.trace.samples import kernel, trace, written

GPU0, GPU1 = (0, 90_000, 0, PID, "gemm"), (0, 90_000, 1, PID, "gemm")


def busy(report: Report, entity: str) -> object:
    fact = report.store.get("trace.busy_us", entity)
    return fact.value if fact else None


def test_an_export_of_ranks_that_traces_tell_of_is_left_out_and_said_so(tmp_path: Path) -> None:
    written(tmp_path / "trace_0.json", trace([kernel("k", 0.0, 10.0)], 0, 2))
    export(tmp_path / "all.sqlite", [GPU0, GPU1])
    report = analyze_paths([tmp_path])
    assert busy(report, "rank:0") == 10.0 and busy(report, "rank:1") is None
    [given] = [given for given in report.inputs if given.kind == "nsys"]
    assert "analyze it apart" in given.notes[-1].values["text"]


def test_an_export_of_another_rank_is_told_beside_the_traces(tmp_path: Path) -> None:
    written(tmp_path / "trace_0.json", trace([kernel("k", 0.0, 10.0)], 0, 2))
    export(tmp_path / "rank1.sqlite", [GPU0])
    report = analyze_paths([tmp_path])
    assert busy(report, "rank:0") == 10.0 and busy(report, "rank:1") == 90.0


def test_an_export_alone_is_told(tmp_path: Path) -> None:
    report = analyze_paths([export(tmp_path / "all.sqlite", [GPU0])])
    assert busy(report, "rank:0") == 90.0
    assert not [note for note in report.all_notes if "apart" in str(note.values)]
