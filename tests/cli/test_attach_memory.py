"""A job whose GPU memory creeps, beside `--dump memory`: the snapshot of the recorder in it names the line that keeps it.

The recorder, the process and the pipe are real; the GPU is replaced by an allocator that is one on paper.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.recorder.jobs import PYTHON, ROOT, needs_torch

JOB = Path(__file__).with_name("leaking.py")
PATIENCE = 240.0


def said(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@needs_torch
@pytest.mark.parametrize(
    "place",
    [{}, {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "TORCHELASTIC_RUN_ID": f"leaking-{os.getpid()}"}],
    ids=["alone", "torchrun"],
)
def test_the_place_that_keeps_memory_is_named_before_it_is_full(place: dict[str, str], tmp_path: Path) -> None:
    logs, told, errors = tmp_path / "logs", tmp_path / "said.jsonl", tmp_path / "stderr"
    logs.mkdir()
    settings = {**os.environ, **place, "PYTHONPATH": str(ROOT)}
    settings.pop("PDOCTOR_RECORD", None)
    attach = [sys.executable, "-m", "doctor", "attach", str(logs), "--dump", "memory", "--jsonl", str(told)]
    with (logs / "train.log").open("wb") as log, errors.open("wb") as err:
        watch = subprocess.Popen(attach, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=err)
        end = time.monotonic() + PATIENCE
        while "watching" not in errors.read_text():
            assert time.monotonic() < end and watch.poll() is None, errors.read_text()
            time.sleep(0.1)
        job = subprocess.Popen([PYTHON, str(JOB), str(tmp_path / "record")], env=settings, stdout=log, stderr=log)
        try:
            end = time.monotonic() + PATIENCE
            while not any(line["rule"] == "MEM051" for line in said(told)):
                assert time.monotonic() < end and watch.poll() is None and job.poll() is None, errors.read_text()
                time.sleep(0.2)
        finally:
            for process in (watch, job):
                process.terminate()
            for process in (watch, job):
                process.wait(60)
    leak = next(line for line in said(told) if line["rule"] == "MEM051")
    assert leak["entities"] == ["rank:0"] and "/work/metrics.py:update" in json.dumps(leak)
    file = tmp_path / "record" / "rank0-memory-1.pickle"
    assert f"--dump memory: taken of rank 0: {file}" in errors.read_text()
