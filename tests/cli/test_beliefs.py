from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.rulebase.beliefs import read_beliefs


def test_the_list_names_every_belief_with_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "beliefs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(read_beliefs().all)
    assert any("[wrong]" in line for line in lines)


@pytest.mark.parametrize(("lang", "told"), [("en", "**Wrong.**"), ("zh", "**错误。**")])
def test_one_belief_is_printed_with_numbers_and_sources(
    lang: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rules", "beliefs", "adam-two-momenta", "--lang", lang]) == 0
    text = capsys.readouterr().out
    assert told in text and "**1120 GB**" in text and "https://arxiv.org/abs/1910.02054" in text


def test_a_misspelt_belief_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "beliefs", "adam-two-momento"]) == 2
    assert "did you mean adam-two-momenta?" in capsys.readouterr().err


def test_the_pages_hold_the_beliefs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "pages", str(tmp_path)]) == 0
    page = (tmp_path / "beliefs.md").read_text(encoding="utf-8")
    assert "**27.3 %**" in page and "[PRF005](PRF005.md)" in page


def test_a_wrong_number_is_found_by_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "beliefs").mkdir()
    (tmp_path / "beliefs" / "mine.yaml").write_text(
        "mine:\n  belief: {en: a, zh: b}\n  verdict: right\n  truth: {en: a, zh: b}\n"
        "  formulas: [{what: {en: a, zh: b}, is: 2 * P, unit: GB, at: [{P: 70e9, gives: 150}]}]\n"
        '  sources: [{title: a, url: "https://example.org", basis: read}]\n',
        encoding="utf-8",
    )
    assert run(["rules", "check", "--rules", str(tmp_path)]) == 1
    assert "beliefs/mine.yaml:5:" in (told := capsys.readouterr().out) and "gives 140 GB, not 150" in told
