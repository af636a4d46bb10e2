from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import doctor
from doctor.cli.main import run
from doctor.facts.model import Fact
from doctor.views.json import render
from tests.reports import OOM_LINE, healthy_report, oom_report

SCHEMA = json.loads((Path(doctor.__file__).parent / "views" / "report.schema.json").read_text(encoding="utf-8"))


def valid(document: str) -> dict[str, object]:
    data = json.loads(document)
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(data)
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("facts", [False, True])
def test_reports_are_valid_against_the_published_schema(tmp_path: Path, lang: str, facts: bool) -> None:
    report = oom_report(tmp_path, OOM_LINE, "rank3.log", Fact("config.tp", 2), Fact("config.framework", "megatron"))
    assert valid(render(report, lang, facts))["verdict"] == "problem"
    assert valid(render(healthy_report(tmp_path), lang, facts))["verdict"] == "healthy"


def test_roots_come_first_with_their_proof(tmp_path: Path) -> None:
    data = json.loads(render(oom_report(tmp_path), "en"))
    root = data["findings"][0]
    assert (root["cause"], root["role"], root["entities"]) == ("model-states-exceed-capacity", "root", ["rank:3"])
    line = next(item for item in root["evidence"] if item["line"] == 120)
    assert (line["path"], line["rank"], line["host"]) == ("rank3.log", 3, "node1")
    assert line["time"] == "2026-03-08T20:00:00.000Z" and "CUDA out of memory" in line["text"]


def test_changes_name_the_framework_they_are_for(tmp_path: Path) -> None:
    data = json.loads(render(oom_report(tmp_path), "en"))
    changes = [change for remedy in data["findings"][0]["remedies"] for change in remedy["changes"]]
    assert {"framework": "megatron", "text": "--use-distributed-optimizer"} in changes


def test_facts_are_given_when_asked_for(tmp_path: Path) -> None:
    report = oom_report(tmp_path, OOM_LINE, "rank3.log", Fact("config.tp", 2))
    assert json.loads(render(report, "en"))["facts"] == {}
    assert json.loads(render(report, "en", facts=True))["facts"]["config.tp"][0]["value"] == 2


def test_no_live_control_character_is_in_the_document(tmp_path: Path) -> None:
    line = "CUDA out of memory \x1b[31m \x9b2J \u202e \udcff \x7f"
    document = render(oom_report(tmp_path, line), "zh")
    assert not set(document) & set("\x1b\x9b\u202e\udcff\x7f")
    assert json.loads(document)["findings"][0]["evidence"][0]["text"] == line


@pytest.mark.parametrize(("lang", "told"), [("en", "has no unfinished call"), ("zh", "没有未完成的调用")])
def test_what_a_recording_shows_is_told_in_the_language_of_the_report(
    lang: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Path(__file__).parents[2] / "fixtures" / "jobs" / "hang" / "job"
    assert run(["analyze", str(job), "--json", "--lang", lang]) == 1
    data = valid(capsys.readouterr().out)
    assert any(told in line["text"] for finding in data["findings"] for line in finding["evidence"])  # type: ignore[attr-defined]
