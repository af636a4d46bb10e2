"""Traces among other files: one diagnosis, and facts of every rank and device in the report."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.session.analyze import analyze_paths
from doctor.views.json import render
from tests.probes.files.trace.samples import kernel, launch, trace, written


def host_bound(rank: int) -> list[dict[str, object]]:
    events = []
    for n in range(100):
        events += [launch(100.0 * n, n + 1), kernel("k", 100.0 * n + 10, 10.0 + rank, correlation=n + 1)]
    return events


def test_a_folder_of_traces_and_logs_is_one_diagnosis(tmp_path: Path) -> None:
    for rank in range(2):
        written(tmp_path / f"trace_{rank}.json", trace(host_bound(rank), rank, 2))
    (tmp_path / "rank0.log").write_text("iteration 10 | loss 2.3\n")
    report = analyze_paths([tmp_path])
    assert {(given.kind, given.rank) for given in report.inputs if given.kind == "trace"} == {
        ("trace", 0),
        ("trace", 1),
    }
    assert [root.rule.id for root in report.diagnosis.roots] == ["PRF030"]


def test_every_rank_and_device_carries_its_times(tmp_path: Path) -> None:
    for rank in range(2):
        written(tmp_path / f"trace_{rank}.json", trace(host_bound(rank), rank, 2, host_name="node1"))
    facts = json.loads(render(analyze_paths([tmp_path]), "en", True))["facts"]
    for part in ("span", "busy", "idle", "compute", "comm", "comm_comp_overlap", "exposed_comm", "exposed_mem"):
        entities = [entry["entity"] for entry in facts[f"trace.{part}_us"]]
        assert {"rank:0", "rank:1", "gpu:node1/0"} <= set(entities)
    busy = {entry["entity"]: entry["value"] for entry in facts["trace.busy_us"] if entry["entity"] != "gpu:node1/0"}
    assert busy["rank:0"] == 1000.0 and busy["rank:1"] == 1100.0


def test_a_broken_trace_among_good_ones_is_a_warning(tmp_path: Path) -> None:
    written(tmp_path / "good.json", trace(host_bound(0)))
    (tmp_path / "bad.json").write_text('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "X", "na')
    report = analyze_paths([tmp_path])
    notes = {given.path: given.notes for given in report.inputs}
    assert notes["bad.json"]
    assert report.store.get("trace.busy_us", "rank:0") is not None
