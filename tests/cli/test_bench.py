"""`pdoctor bench`: the table, the verdict and the exit status."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from doctor.cli.main import run

PYTHON = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")
needs_torch = pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")


@needs_torch
def test_ranks_over_gloo_are_measured_and_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--backend", "gloo", "--ranks", "2", "--op", "all_reduce", "--op", "broadcast", "--size", "64K"]
    assert run(["bench", "--python", PYTHON, "--json", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["findings"]) == ("healthy", [])
    assert [(row["operation"], row["bytes"], row["published"]) for row in found["rows"]] == [
        ("all_reduce", 65536, None),
        ("broadcast", 65536, None),
    ]
    reduce = found["rows"][0]
    assert reduce["algbw"] == pytest.approx(reduce["bytes"] / reduce["seconds"])
    assert reduce["busbw"] == pytest.approx(reduce["algbw"])  # 2(n-1)/n of two ranks


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--size", "many"], "--size is 'many'"),
        (["--size", "1"], "bytes from 4 up"),
        (["--python", "/nowhere/python"], "does not start"),
        (["--ranks", "1"], "--ranks"),
        (["--layout", "tpp=8"], "'tpp=8'"),
        (["--from", "/nowhere/train.sh"], "/nowhere/train.sh"),
    ],
)
def test_what_cannot_be_tested_is_one_line(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error and len(error.strip().splitlines()) == 1


@needs_torch
def test_the_groups_of_a_launch_script_are_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(
        "torchrun --nproc_per_node 4 pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 1"
        " --seq-length 256 --hidden-size 512 --num-layers 8 --num-attention-heads 8\n"
    )
    arguments = ["--backend", "gloo", "--ranks", "4", "--op", "broadcast", "--size", "1K", "--from", str(script)]
    assert run(["bench", "--python", PYTHON, "--json", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    groups = [(row["role"], row["members"], row["operation"], row["bytes"]) for row in found["groups"]]
    assert ("TP", [2, 3], "all_reduce", 2 * 256 * 512) in groups  # activations of a micro-batch, two bytes a value
    assert ("DP", [0, 2], "reduce_scatter", 1 << 20) in groups
    assert (found["slow_groups"], {row["wrong"] for row in found["groups"]}) == ([], {0})
