from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.views.test_json import valid

SAMPLE = Path(__file__).parents[2] / "fixtures" / "sample" / "job"
OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n"


def test_the_sample_is_a_rank_out_of_memory_with_the_others_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(SAMPLE), "--json"]) == 1
    data = valid(capsys.readouterr().out)
    findings = data["findings"]
    assert isinstance(findings, list)
    assert data["verdict"] == "problem"
    assert [f["cause"] for f in findings if f["role"] == "root"] == ["cuda-oom-one-rank"]
    assert any("CUDA out of memory" in line["text"] for line in findings[0]["evidence"])
    assert data["unexplained"] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_report_goes_to_stdout_and_nothing_else_does(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["analyze", str(SAMPLE), "--lang", lang])
    shown = capsys.readouterr()
    assert shown.out.startswith({"en": "✗ problem", "zh": "✗ 有问题"}[lang])
    assert shown.err == ""


def test_a_healthy_log_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"step: {n} loss: 2.{n:04d} lr: 0.0003\n" for n in range(200)]
    (tmp_path / "job.log").write_text("".join(lines))
    assert run(["analyze", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("✓ healthy")


def test_a_failure_that_no_rule_explains_ends_with_3_and_shows_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nZorkError: gargle\n'
    (tmp_path / "job.log").write_text(text)
    assert run(["analyze", str(tmp_path)]) == 3
    shown = capsys.readouterr().out
    assert shown.startswith("? undetermined") and "ZorkError: gargle" in shown


def test_what_counts_as_a_finding_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(SAMPLE), "--fail-on", "info"]) == 1
    capsys.readouterr()


def test_answers_become_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.yaml").write_text("config.tp: 16\n")
    run(["analyze", str(SAMPLE), "--answers", str(tmp_path / "answers.yaml"), "--json", "--facts"])
    known = json.loads(capsys.readouterr().out)["facts"]["config.tp"]
    assert {"value": 16, "quality": "answered"}.items() <= known[-1].items()


def test_a_wrong_answer_is_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.yaml").write_text("config.tpp: 16\n")
    assert run(["analyze", str(SAMPLE), "--answers", str(tmp_path / "answers.yaml")]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"pdoctor: {tmp_path}/answers.yaml: unknown fact config.tpp, did you mean config.tp?\n"


def test_how_and_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(SAMPLE), "--explain", "cuda-oom-one-rank"]) == 0
    assert "logs/rank3.log" in capsys.readouterr().out
    assert run(["analyze", str(SAMPLE), "--explain", "cuda-oom-one-rnak"]) == 2
    assert "did you mean cuda-oom-one-rank?" in capsys.readouterr().err


def test_defaults_come_from_the_folders_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pdoctor.toml").write_text('lang = "zh"\n')
    monkeypatch.chdir(tmp_path)
    run(["analyze", str(SAMPLE)])
    assert capsys.readouterr().out.startswith("✗ 有问题")
    run(["analyze", str(SAMPLE), "--lang", "en"])
    assert capsys.readouterr().out.startswith("✗ problem")


def test_help_is_shown_even_where_the_settings_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pdoctor.toml").write_text("nonsense = 1\n")
    monkeypatch.chdir(tmp_path)
    assert run(["analyze", "--help"]) == 0
    assert run(["analyze", str(SAMPLE)]) == 2
    assert "unknown key 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["analize", "x"], "analize"),
        (["analyze", "--lang", "fr", "."], "'fr' is not one of 'en', 'zh'"),
        (["analyze", "--rules", "/nowhere", "."], "/nowhere"),
        ([str(SAMPLE)], f"to read it: pdoctor analyze {SAMPLE}"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and told in shown.err and shown.err.count("\n") == 1


def test_an_explanation_is_not_given_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(SAMPLE), "--json", "--explain", "HNG009"]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "has no JSON form" in shown.err


@pytest.mark.parametrize("command", [["analyze"], ["plan"], ["rules"], ["rules", "search"]])
def test_a_command_without_arguments_shows_its_help_line_by_line(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: pdoctor") and "\nOptions:\n" in err
