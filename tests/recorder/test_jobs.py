"""Real jobs under torchrun, over gloo, with a known fault each: recorded, read back, and the fault named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorder.jobs import diagnosed, needs_torch, roots, run_job

pytestmark = needs_torch


def test_a_healthy_job_is_healthy(tmp_path: Path) -> None:
    done = run_job(tmp_path, "--no-sync", "--compute", "0.03", "--steps", "24")
    assert done.returncode == 0, done.stderr
    report = diagnosed(tmp_path)
    assert roots(report) == set()
    assert report.store.get("run.reduced_while_accumulating").value == 0
    assert report.store.get("config.grad_accum").value == 4
    assert report.store.get("run.step_time").value > 4 * 0.03
    assert [given.rank for given in report.inputs if given.kind == "recording"] == [0, 1]


def test_reductions_after_each_micro_batch_and_a_hot_expert_are_named(tmp_path: Path) -> None:
    done = run_job(tmp_path, "--hot", "4", "--compute", "0.03", "--steps", "24")
    assert done.returncode == 0, done.stderr
    report = diagnosed(tmp_path)
    assert {"PRF010", "MOE020"} <= roots(report)
    assert report.store.get("experts.worst_layer").value == "1"
    assert "experts.uneven_layers" in report.store.names()
    assert report.store.get("experts.uneven_layers").value == ("1",)


def test_a_slow_loader_of_one_rank_is_named(tmp_path: Path) -> None:
    options = ("--slow", "0.05", "--slow-rank", "1", "--compute", "0.01", "--steps", "16")
    done = run_job(tmp_path, "--no-sync", *options)
    assert done.returncode == 0, done.stderr
    report = diagnosed(tmp_path)
    assert roots(report) == {"PRF014"}
    share = {rank: report.store.get("recording.data_share", f"rank:{rank}").value for rank in (0, 1)}
    assert share[1] > 0.25 > share[0]


def test_sharded_gradients_are_reduced_in_each_pass_by_design(tmp_path: Path) -> None:
    done = run_job(tmp_path, "--wrap", "fsdp2", "--steps", "12", "--accumulate", "2", "--compute", "0.03")
    if "fully_shard" in done.stderr and "ImportError" in done.stderr:
        pytest.skip("this torch has no fully_shard")
    assert done.returncode == 0, done.stderr
    report = diagnosed(tmp_path)
    assert "PRF010" not in roots(report)
    assert report.store.get("recording.reduced_share", "rank:0").value == 1
    assert report.store.get("recording.wrapped", "rank:0").value == ("fsdp2",)
    held = {name: report.store.get(f"recording.held_{name}", "rank:0").value for name in ("parameters", "gradients")}
    assert held["parameters"] == held["gradients"]


def test_a_recorder_that_breaks_breaks_no_job(tmp_path: Path) -> None:
    done = run_job(tmp_path, "--break-recorder", "--steps", "8")
    assert done.returncode == 0 and done.stdout.count("done") == 2
    assert done.stderr.count("pdoctor recorder: off: TypeError") == 2
    report = diagnosed(tmp_path)
    told = [note.values["text"] for given in report.inputs for note in given.notes]
    assert sum("switched itself off" in text for text in told) == 2


def test_a_disk_that_takes_nothing_breaks_no_job(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder can be made here")
    done = run_job(blocked / "records", "--steps", "8")
    assert done.returncode == 0 and done.stdout.count("done") == 2
    assert done.stderr.count("pdoctor recorder: off: NotADirectoryError") == 2
