"""The report as files beside what is told on the terminal."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from doctor.cli.main import run

OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(OOM)
    return path


def test_both_files_are_written_beside_the_report(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html, markdown = log.parent / "r.html", log.parent / "r.md"
    assert run(["analyze", str(log), "--html", str(html), "--markdown", str(markdown), "--lang", "zh"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("✗ 有问题") and str(html) in shown.err and str(markdown) in shown.err
    assert html.read_text().startswith("<!doctype html>") and "有问题" in html.read_text()
    assert markdown.read_text().startswith("## ✗ 有问题")
    assert stat.S_IMODE(html.stat().st_mode) == stat.S_IMODE(log.stat().st_mode)
    assert {path.name for path in log.parent.iterdir()} == {"job.log", "r.html", "r.md"}


def test_json_goes_to_stdout_all_the_same(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = log.parent / "r.html"
    run(["analyze", str(log), "--json", "-q", "--html", str(html)])
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verdict"] == "problem" and not shown.err and html.exists()


def test_a_report_is_written_anew_over_an_older_one(log: Path) -> None:
    html = log.parent / "r.html"
    html.write_text("old")
    run(["analyze", str(log), "--html", str(html)])
    assert "old" not in html.read_text()[:10]


def test_a_file_that_was_read_is_never_overwritten(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(log), "--markdown", str(log)]) == 2
    assert "was read" in capsys.readouterr().err and log.read_text() == OOM


def test_a_folder_that_is_not_there_is_said_before_anything_is_read(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyze", str(log), "--html", str(log.parent / "none" / "r.html")]) == 2
    shown = capsys.readouterr()
    assert not shown.out and "there is no folder" in shown.err
    assert run(["analyze", str(log), "--html", str(log.parent)]) == 2
