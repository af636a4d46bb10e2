from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.rulebase.lint import lint
from doctor.rulebase.load import read_rulebase


def test_list_names_every_rule_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list"]) == 0
    ids = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert ids == sorted(read_rulebase().base.rules)


@pytest.mark.parametrize("name", ["HNG009", "hng009", "cuda-oom-one-rank"])
def test_show_takes_an_id_or_a_cause(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "show", name]) == 0
    assert capsys.readouterr().out.startswith("# HNG009 ")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_show_prints_the_page_that_pages_writes(lang: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "pages", str(tmp_path), "--lang", lang]) == 0
    capsys.readouterr()
    assert run(["rules", "show", "HNG009", "--lang", lang]) == 0
    assert capsys.readouterr().out == (tmp_path / "HNG009.md").read_text(encoding="utf-8")


def test_list_takes_an_area_and_a_severity(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list", "--area", "moe", "--severity", "fatal"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    rules = read_rulebase().base.rules.values()
    assert listed == {rule.id for rule in rules if rule.area == "moe" and rule.severity == "fatal"} != set()
    assert run(["rules", "list", "--area", "mo"]) == 2
    assert "no area is called mo, did you mean moe?" in capsys.readouterr().err


def test_show_suggests_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "show", "cuda-oom-one-rnak"]) == 2
    assert "did you mean cuda-oom-one-rank?" in capsys.readouterr().err


def test_the_tests_of_one_rule_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "test", "HNG009"]) == 0
    assert " passed, 0 failed" in capsys.readouterr().out


def test_a_test_that_fails_is_named_and_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "new", "MEM900", "mine", "--cause", "allocator-fragmentation", "--into", str(tmp_path)]) == 0
    path = tmp_path / "oom" / "MEM900_mine.yaml"
    path.write_text(path.read_text().replace("expect: {finding: none}", "expect: {finding: MEM900}"))
    assert run(["rules", "test", "MEM900", "--rules", str(tmp_path)]) == 1
    assert "MEM900 must be a root" in capsys.readouterr().out


def test_a_new_rule_is_in_order_from_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["rules", "new", "mem900", "mine", "--cause", "allocator-fragmentation", "--into", str(tmp_path)])
    told = capsys.readouterr().out
    assert "MEM900_mine.yaml" in told and f"pdoctor rules test MEM900 --rules {tmp_path}" in told
    assert [str(fault) for fault in lint(read_rulebase([tmp_path])) if "MEM900" in str(fault)] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["HNG009", "mine"], "HNG009 exists already"),
        (["XYZ001", "mine"], "XYZ001 is no rule id: one of MEM (oom)"),
        (["MEM900", "My Rule"], "'My Rule' is no rule name"),
        (["MEM900", "allocator-fragmentatoin"], "did you mean allocator-fragmentation?"),
    ],
)
def test_a_new_rule_needs_a_free_id_a_plain_name_and_a_known_cause(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rules", "new", *arguments, "--into", str(tmp_path)]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_misspelt_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "lst"]) == 2
    assert capsys.readouterr().err == "pdoctor: no command is called lst, did you mean list?\n"
