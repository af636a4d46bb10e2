"""The recorder in one process of the job's interpreter: what it writes, and that it disturbs nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.recorder.jobs import PYTHON, ROOT, needs_torch

SCENARIOS = Path(__file__).parent / "scenarios.py"


def run(scenario: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PDOCTOR_RECORD", None)
    command = [PYTHON, str(SCENARIOS), scenario, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment, check=False)


@needs_torch
@pytest.mark.parametrize(
    "scenario",
    (
        *("plain_loop", "compiled_whole", "copies_and_pickles", "several_attach_calls", "forked_workers", "by_hand"),
        *("wrapped_optimizers", "models_are_let_go", "routers", "kept_sums", "switched_off"),
    ),
)
def test_it_records_and_disturbs_nothing(scenario: str, tmp_path: Path) -> None:
    done = run(scenario, tmp_path / "records")
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr
    assert "recorder: off" not in done.stderr


@needs_torch
def test_an_error_of_its_own_is_one_line_each_time(tmp_path: Path) -> None:
    done = run("own_errors", tmp_path)
    assert "passed" in done.stdout, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("pdoctor recorder: off")]
    assert len(said) == 4 and all("ZeroDivisionError" in line for line in said)


@needs_torch
def test_nonsense_is_refused_in_one_line(tmp_path: Path) -> None:
    done = run("attached_to_nonsense", tmp_path)
    assert "passed" in done.stdout, done.stderr
    assert done.stderr.count("pdoctor recorder: off") == 1
