"""A real job over gloo whose rank 2 hangs, beside `--dump stacks`: the stacks name it and its line before the time-out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from probes.node.interface.host import this_host
from probes.node.interface.processes import Rank
from probes.node.interface.py_spy import find
from tests.probes.node.hung import PYTHON

JOB = Path(__file__).parent.parent / "session" / "watch" / "job.py"
TIMEOUT = 90
"""Seconds: of the process group, and as the script in the folder says."""
SCRIPT = f'import datetime\ndist.init_process_group("gloo", timeout=datetime.timedelta(seconds={TIMEOUT}))\n'
STARTS = 240.0
"""Seconds in which torch is imported on a busy machine."""


def said(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def line_of(text: str) -> int:
    """The line of the job's script that holds `text`."""
    return next(number for number, line in enumerate(JOB.read_text().splitlines(), 1) if text in line)


@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")
@pytest.mark.skipif(find(this_host(), Rank(0, 0, 0, None, {}, (PYTHON,))) is None, reason="py-spy is not installed")
@pytest.mark.parametrize(
    ("how", "cause", "stands"),
    [
        ("loader", "dataloader-starved", f"(job.py:{line_of('                next_batch()')})"),
        ("collective", "collective-order-mismatch", f"(job.py:{line_of('dist.all_gather(')})"),
    ],
)
def test_stacks_name_the_rank_and_its_line_before_the_time_out(
    how: str, cause: str, stands: str, tmp_path: Path
) -> None:
    logs, told, errors = tmp_path / "logs", tmp_path / "said.jsonl", tmp_path / "stderr"
    logs.mkdir()
    (logs / "train.py").write_text(SCRIPT)
    launch = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", str(JOB)]
    attach = [sys.executable, "-m", "doctor", "attach", str(logs), "--dump", "stacks", "--jsonl", str(told)]
    settings = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    with (logs / "job.log").open("wb") as log, errors.open("wb") as err:
        watch = subprocess.Popen(attach, stdout=subprocess.DEVNULL, stderr=err)
        end = time.monotonic() + STARTS
        while "watching" not in errors.read_text():
            assert time.monotonic() < end and watch.poll() is None, errors.read_text()
            time.sleep(0.1)
        job = subprocess.Popen([*launch, how, "100", "100000", str(TIMEOUT)], env=settings, stdout=log, stderr=log)
        try:
            end = time.monotonic() + STARTS + TIMEOUT
            while not any(one["cause"] == cause for one in said(told)):
                assert time.monotonic() < end and watch.poll() is None and job.poll() is None, errors.read_text()
                time.sleep(0.1)
            so_far = (logs / "job.log").read_text(errors="replace")
            alive = job.poll() is None
            watch.send_signal(signal.SIGINT)
            watch.wait(180)
        finally:
            job.send_signal(signal.SIGTERM)  # torchrun ends its ranks, which are in sessions of their own
            with suppress(subprocess.TimeoutExpired):
                job.wait(60)
            for process in (watch, job):
                process.kill()
                process.wait()
    assert alive and "Traceback" not in so_far and "imed out" not in so_far
    assert "--dump stacks: taken of ranks 0-3" in errors.read_text()
    first, named, *others = said(told)
    assert first["rule"] == "LIV001" and others == []
    assert named["cause"] == cause and named["entities"] == ["rank:2"] and named["role"] == "root"
    assert named["announced"]["follow"] == [first["announced"]["key"]]
    assert any(stands in one["text"] and one["text"].startswith("rank 2 stands in") for one in named["evidence"]), (
        named["evidence"]
    )
