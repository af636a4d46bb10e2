"""A plan without numbers still shows what is written, and what is left to a person with the reason."""

from __future__ import annotations

from pathlib import Path

from doctor.session.analyze import analyze_paths
from doctor.views.html.page import render
from doctor.views.json import as_data
from doctor.views.markdown import render as markdown
from doctor.views.plan_report import by_hand_lines
from tests.reports import text
from tests.session.test_plan import FLAGS, OOM


def test_what_is_missing_for_numbers_is_named_where_the_batch_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    assert "the job's configuration (launch script, config file)" in text(analyze_paths([tmp_path]))
    (tmp_path / "train.sh").write_text(FLAGS.replace("--micro-batch-size 4", ""))
    report = analyze_paths([tmp_path])
    assert "nothing handed over tells micro_batch" in text(report)
    data = as_data(report, "en")["plan"]
    assert data["before"] is None and data["missing"] == ["config.micro_batch"]


def test_every_view_has_the_same_diff_and_reasons(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "train.sh").write_text(FLAGS.replace("--num-layers 32 --hidden-size 4096 ", ""))
    report = analyze_paths([tmp_path])
    assert report.edits and report.edits.patch
    change = next(line for line in report.edits.patch.splitlines() if line.startswith("+torchrun"))
    data = as_data(report, "en")["plan"]
    assert change in data["patch"][0]["diff"]
    assert data["steps"] and len(data["by_hand"]) == len(by_hand_lines(report, "en"))
    for shown in (text(report), markdown(report, "en")):
        assert change in shown
        assert all(line[:30] in shown for line in by_hand_lines(report, "en"))
    assert "--micro-batch-size 2" in render(report, "en")


def test_a_plan_that_does_not_fit_leads_on(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "train.sh").write_text(FLAGS.replace("--num-layers 32", "--num-layers 96"))
    told = text(analyze_paths([tmp_path]))
    assert "it does not fit with these either: pdoctor plan --from PATH" in " ".join(told.split())
    (tmp_path / "train.sh").write_text(FLAGS.replace("--num-layers 32", "--num-layers 2"))
    assert "does not fit with these" not in text(analyze_paths([tmp_path]))
