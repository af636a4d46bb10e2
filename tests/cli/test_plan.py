"""`pdoctor plan` as a person uses it: what it says, in what width, and how it refuses nonsense."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.cli.main import run

CASE = ["plan", "--model", "llama2-70b", "--gpus", "64", "--gpu", "A100-80G", "--seq", "4096", "--global-batch", "512"]
SCRIPT = """#!/bin/bash
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --swiglu --vocab-size 32000 \\
  --seq-length 4096 --max-position-embeddings 4096 --use-distributed-optimizer --micro-batch-size 2 \\
  --global-batch-size 256 --bf16
"""


def schema() -> Any:
    return json.loads(files("doctor.views").joinpath("plan.schema.json").read_text(encoding="utf-8"))


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "train.sh"
    path.write_text(SCRIPT)
    return str(path)


def test_it_says_strategy_candidates_what_to_measure_and_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(CASE, capsys)
    assert "One copy of all states takes 1,156 GiB" in shown
    assert "the models cannot tell" in shown
    assert "--tensor-model-parallel-size" in shown and "--train-iters 30" in shown


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_its_tables_and_bars_fit_the_terminal(
    columns: int, lang: str, script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.text import Text

    monkeypatch.setenv("COLUMNS", str(columns))
    shown = told(["plan", "--from", script, "--gpu", "H100", "--lang", lang, "--no-color"], capsys)
    before_diff = shown.partition("--- a/")[0]
    whole = [line for line in before_diff.splitlines() if not line.lstrip().startswith("--")]
    assert max(Text(line).cell_len for line in whole) <= columns


@pytest.mark.parametrize(
    "case", [("mixtral-8x7b", "64", "512"), ("llama2-70b", "16", "64"), ("deepseek-v3", "1024", "8192")]
)
def test_tables_of_all_kinds_fit_80_columns(
    case: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name, gpus, batch = case
    shown = told(
        ["plan", "--model", name, "--gpus", gpus, "--gpu", "H100", "--seq", "4096", "--global-batch", batch], capsys
    )
    table = shown.partition("\ncandidates")[2].partition("\nmeasure")[0].partition("\nchange")[0]
    assert max(len(line) for line in table.splitlines()) <= 80


def test_today_is_shown_with_its_memory_by_part_and_its_time(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(["plan", "--from", script, "--gpu", "H100"], capsys)
    assert "today" in shown and "TP 2  PP 1  DP 4, micro-batch 2 x 32" in shown
    assert "█ parameters" in shown and "MFU" in shown


def test_what_if_shows_before_and_after(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(
        ["plan", "--from", script, "--gpu", "H100", "--what-if", "--set", "tp=4", "--set", "recompute=full"], capsys
    )
    assert "tp: 2 -> 4" in shown and "recompute: none -> full" in shown
    assert "candidates" not in shown


def test_the_change_is_a_diff_of_the_users_own_file(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    what = ["plan", "--from", script, "--gpu", "H100", "--what-if", "--set", "tp=4", "--set", "recompute=full"]
    shown = told(what, capsys)
    assert "-torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2" in shown
    assert "+torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4" in shown
    patch = json.loads(told([*what, "--json"], capsys))["patch"]
    assert len(patch) == 1 and "--recompute-granularity full" in patch[0]["diff"]


def test_a_measured_step_scales_the_estimates(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    what = ["plan", "--from", script, "--gpu", "H100", "--json", "--what-if", "--set", "tp=4"]
    plain = json.loads(told(what, capsys))["today"]["step_time_s"]["likely"]
    scaled = json.loads(told([*what, "--measured-step", str(2 * plain)], capsys))
    assert scaled["today"]["step_time_s"]["likely"] == pytest.approx(2 * plain, rel=1e-3)


@pytest.mark.parametrize(
    "further",
    [
        [],
        ["--set", "tp=8", "--set", "pp=4", "--what-if"],
        ["--framework", "fsdp"],
        ["--framework", "deepspeed"],
        ["--framework", "torchtitan"],
        ["--model", "mixtral-8x7b"],
        ["--gpus", "8"],
        ["--lang", "zh"],
    ],
)
def test_the_json_follows_its_schema(further: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.validate(json.loads(told([*CASE, "--json", *further], capsys)), schema())


def test_the_json_of_a_change_follows_its_schema(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(
        told(["plan", "--from", script, "--gpu", "H100", "--what-if", "--set", "cp=2", "--json"], capsys)
    )
    jsonschema.validate(found, schema())
    assert found["what_if"]["changes"][0] == {"name": "cp", "from": 1, "to": 2}


@pytest.mark.parametrize(
    ("further", "names"),
    [
        (["--gpus", "0"], "--gpus is 0"),
        (["--gpus", "-8"], "--gpus is -8"),
        (["--set", "tp=3"], "tp 3"),
        (["--set", "tp=16"], "8 key-value heads are not divisible by tp 16; right would be 8"),
        (["--set", "tpp=4"], "did you mean tp?"),
        (["--set", "micro_batch=-1"], "micro_batch is '-1'"),
        (["--model", "llama9-70b"], "did you mean"),
        (["--gpu", "Z100"], "Z100"),
        (["--framework", "pytroch"], "megatron, torchtitan, fsdp, deepspeed"),
        (["--gpus", "12"], "12 GPUs are not whole nodes of 8"),
        (["--global-batch", "0"], "--global-batch is 0"),
        (["--what-if", "--set", "pp=3"], "ranks do not divide the 64 GPUs"),
        (["--network", "-1"], "--network is -1"),
        (["--model", "/dev/null"], "/dev/null"),
        (["--evaluate", "/nowhere"], "/nowhere"),
    ],
)
def test_nonsense_is_one_line_and_exit_2(further: list[str], names: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CASE, *further]) == 2
    error = capsys.readouterr().err
    assert names in error and len(error.splitlines()) == 1


@pytest.mark.parametrize("gone", ["--model", "--gpus", "--gpu", "--seq", "--global-batch"])
def test_a_missing_option_is_named(gone: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = CASE.index(gone)
    assert run(CASE[:at] + CASE[at + 2 :]) == 2
    assert f"{gone} is needed" in capsys.readouterr().err


def test_files_that_say_too_little_are_told_what_is_missing(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--from", script]) == 2
    assert "missing: --gpu" in capsys.readouterr().err
