from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from doctor.cli.main import run

SAMPLE = Path(__file__).parents[2] / "fixtures" / "sample" / "job"


def log(folder: Path, seconds: float, spread: float = 0.02, steps: int = 120, batch: int = 64) -> str:
    """A log as Megatron-LM prints it."""
    chance = Random(7)
    folder.mkdir()
    lines = [
        f" iteration {n:8d}/    1000 | consumed samples: {n * batch:12d} | elapsed time per iteration (ms): "
        f"{1000 * seconds * chance.gauss(1, spread):.1f} | learning rate: 3.000E-04 | global batch size: {batch:5d} | "
        "lm loss: 2.300000E+00 | loss scale: 1.0 | grad norm: 0.500 | number of skipped iterations:   0 | "
        "number of nan iterations:   0 |\n"
        for n in range(1, steps + 1)
    ]
    (folder / "rank0.log").write_text("".join(lines))
    return str(folder)


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["compare", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_logs_of_a_faster_run_are_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", log(tmp_path / "a", 2.0), log(tmp_path / "b", 1.5)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("✓ better")
    assert "time of a step" in shown and "rank0.log:1" in shown


def test_the_batch_in_the_lines_of_a_log_is_a_condition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, log(tmp_path / "a", 2.0), log(tmp_path / "b", 1.0, batch=32))
    assert found["verdict"] == "incomparable"
    assert found["differences"] == [{"what": "global_batch", "before": "64", "after": "32"}]


def test_a_report_stands_for_the_files_it_was_made_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = log(tmp_path / "a", 2.0), log(tmp_path / "b", 1.5)
    run(["analyze", before, "--json", "--facts"])
    (tmp_path / "before.json").write_text(capsys.readouterr().out)
    reported, read = (compared(capsys, side, after) for side in (str(tmp_path / "before.json"), before))
    assert reported["verdict"] == read["verdict"] == "better"
    assert reported["changes"][0]["interval"] == read["changes"][0]["interval"]  # type: ignore[index]


def test_few_steps_tell_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, log(tmp_path / "a", 2.0, steps=3), log(tmp_path / "b", 1.0, steps=3))
    assert found["verdict"] == "same"


def test_a_failure_that_is_gone_is_told_in_chinese_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(SAMPLE), str(SAMPLE), "--lang", "zh"]) == 0
    assert "仍存在" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        '{"schema": 1, "tool": {"name": "pdoctor"}, "facts": ',
        '{"schema": 1, "tool": {"name": "pdoctor"}, "facts": ' + "[" * 100_000,
    ],
)
def test_a_damaged_report_is_one_clear_line(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.json").write_text(content)
    assert run(["compare", str(tmp_path / "r.json"), str(SAMPLE)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_wrong_types_and_endless_numbers_in_a_report_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [{"entity": 3, "value": [float("nan"), 1e999], "quality": "derived", "source": 5}, 7, {"value": {}}]
    report = {
        "schema": 1,
        "tool": {"name": "pdoctor"},
        "facts": {"run.step_time": entries, "x": 3},
        "findings": [3, {"role": "root", "evidence": 4}],
    }
    (tmp_path / "r.json").write_text(json.dumps(report))
    assert compared(capsys, str(tmp_path / "r.json"), str(tmp_path / "r.json"))["verdict"] == "same"


def test_a_side_that_is_not_there_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(tmp_path / "no"), str(SAMPLE)]) == 2
    assert "no such file" in capsys.readouterr().err


def test_defaults_come_from_the_folders_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pdoctor.toml").write_text('lang = "zh"\n')
    monkeypatch.chdir(tmp_path)
    assert run(["compare", str(SAMPLE), str(SAMPLE)]) == 0
    assert "对比" in capsys.readouterr().out
