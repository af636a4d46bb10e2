from __future__ import annotations

from pathlib import Path

import click
import pytest

from doctor.cli.settings import read_settings


def settings(folder: Path, text: str, name: str = "pdoctor.toml") -> dict[str, object]:
    (folder / name).write_text(text, encoding="utf-8")
    return read_settings(folder).get("analyze", {})


def test_own_file_gives_defaults_and_paths_start_at_it(tmp_path: Path) -> None:
    found = settings(tmp_path, 'lang = "zh"\nfail-on = "risk"\nrules = ["mine"]\n')
    assert found == {"lang": "zh", "fail_on": "risk", "rules": [str(tmp_path / "mine")]}


def test_a_watch_has_the_same_defaults(tmp_path: Path) -> None:
    (tmp_path / "pdoctor.toml").write_text('lang = "zh"\n')
    assert read_settings(tmp_path)["attach"] == read_settings(tmp_path)["analyze"]


def test_the_projects_file_gives_them_too(tmp_path: Path) -> None:
    assert settings(tmp_path, "[tool.pdoctor]\nquiet = true\n", "pyproject.toml") == {"quiet": True}


def test_a_project_without_our_table_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "pdoctor.toml").write_text('lang = "zh"\n')
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert read_settings(inner)["analyze"] == {"lang": "zh"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('langg = "zh"', "unknown key 'langg', did you mean 'lang'?"),
        ('lang = "fr"', "lang = 'fr': should be one of en, zh"),
        ("quiet = 1", "quiet = 1: should be true or false"),
        ("lang = ", "pdoctor.toml: "),
    ],
)
def test_a_mistake_is_one_line_that_names_file_value_and_what_is_right(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        settings(tmp_path, text)
    assert told in caught.value.message
    assert str(tmp_path) in caught.value.message
