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


def test_all_missing_options_are_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--gpu", "H100"]) == 2
    error = capsys.readouterr().err
    assert all(f"{option} is needed" in error for option in ("--model", "--gpus", "--seq", "--global-batch"))
    assert "--gpu is needed" not in error


@pytest.mark.parametrize(("name", "told_as"), [("nemo", "megatron"), ("hf", "deepspeed"), ("Megatron", "")])
def test_a_framework_that_stands_for_another_is_said_to(
    name: str, told_as: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*CASE, "--framework", name]) == 0
    error = capsys.readouterr().err
    assert error == (f"pdoctor: {name} is planned for as {told_as}\n" if told_as else "")


def test_files_that_say_too_little_are_told_what_is_missing(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--from", script]) == 2
    assert "missing: --gpu" in capsys.readouterr().err


DENSE = ["plan", "--model", "llama3-8b", "--seq", "8192", "--global-batch", "128"]


def test_what_is_likely_to_fit_is_not_said_not_to_fit(capsys: pytest.CaptureFixture[str]) -> None:
    moe = ["plan", "--model", "qwen3-235b-a22b", "--gpus", "64", "--gpu", "H100", "--seq", "4096", "--global-batch"]
    shown = " ".join(told([*moe, "512"], capsys).split())
    assert "68.5 GiB do not fit in 79.1" not in shown
    assert "GiB are likely, but up to" in shown


def test_sharded_data_parallelism_is_not_called_data_parallelism_alone(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(told([*DENSE, "--gpus", "8", "--gpu", "H100", "--framework", "fsdp"], capsys).split())
    assert "Data parallelism with all states shared out over its ranks (DP 8): 88.9 GiB" in shown
    assert "Data parallelism alone" in told([*DENSE, "--gpus", "8", "--gpu", "H100"], capsys)


@pytest.mark.parametrize(("gpu", "link"), [("MI300X", "Infinity Fabric"), ("A100-40G", "NVLink")])
def test_the_link_between_gpus_has_its_name(gpu: str, link: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = ["plan", "--model", "llama3-70b", "--gpus", "64", "--gpu", gpu, "--seq", "4096", "--global-batch", "512"]
    shown = " ".join(told(case, capsys).split())
    assert f"the 8 GPUs that {link} joins" in shown
    assert ("NVLink" in shown) == (link == "NVLink")


def test_a_batch_that_leaves_gpus_unused_does_not_narrow_the_node(capsys: pytest.CaptureFixture[str]) -> None:
    case = ["plan", "--model", "llama3-8b", "--seq", "8192", "--global-batch", "7", "--gpus", "8", "--gpu", "H100"]
    assert "no wider than the 8 GPUs" in " ".join(told(case, capsys).split())


def test_settings_that_are_held_are_told_apart_from_the_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(told([*DENSE, "--gpus", "8", "--gpu", "H100", "--set", "tp=8"], capsys).split())
    assert "without tp=8, which --set holds" in shown
    assert "which --set holds" not in told([*DENSE, "--gpus", "8", "--gpu", "H100"], capsys)


def test_where_nothing_comes_near_to_fitting_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told([*DENSE, "--gpus", "1", "--gpu", "A100-40G"], capsys)
    assert "None comes near to fitting" in shown and "change" not in shown


def test_commands_over_nodes_say_where_the_ranks_meet(capsys: pytest.CaptureFixture[str]) -> None:
    two = [*DENSE, "--gpus", "16", "--gpu", "H100"]
    shown = told(two, capsys).replace("\\\n", "")
    assert "--nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29500" in " ".join(shown.split())
    assert "--num_machines 2 --num_processes 16" in told([*two, "--framework", "fsdp"], capsys)
    assert "rdzv" not in told([*DENSE, "--gpus", "8", "--gpu", "H100"], capsys)


def test_settings_of_deepspeed_and_accelerate_say_the_precision_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    one = [*DENSE, "--gpus", "8", "--gpu", "H100", "--framework"]
    assert '"bf16": {"enabled": true}' in told([*one, "deepspeed"], capsys)
    shown = told([*one, "fsdp"], capsys)
    assert "accelerate launch --num_machines 1" in shown and "--mixed_precision bf16" in shown
    assert "torchrun" not in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--gpus", "3"], "缺少 --seq：每序列 token 数，如 4096"),
        (["--gpus", "0"], "--gpus 为 0；应为大于 0 且不超过 10,000,000 的数"),
        ([*CASE[1:], "--what-if", "--set", "tp=3"], "不能整除 64 个 GPU；正确取值：2 或 4 个 rank"),
        (["--evaluate", "/no/such/folder"], "'/no/such/folder' 不是存放记录的目录"),
    ],
)
def test_what_is_wrong_is_said_in_the_language_of_the_report(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments, "--lang", "zh"]) == 2
    assert told in capsys.readouterr().err
