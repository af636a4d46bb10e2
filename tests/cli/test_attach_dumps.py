"""A real job over gloo whose rank 2 hangs in its data loader: the stacks that are taken name it before the time-out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from probes.node.interface.host import this_host
from probes.node.interface.processes import Rank
from probes.node.interface.py_spy import find
from tests.probes.node.hung import PYTHON

JOB = Path(__file__).parent.parent / "session" / "watch" / "job.py"
SCRIPT = 'import datetime\ndist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))\n'
PATIENCE = 150.0


def last(said: Path) -> dict[str, object]:
    lines = said.read_text().splitlines() if said.exists() else []
    return json.loads(lines[-1]) if lines else {}


@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")
@pytest.mark.skipif(find(this_host(), Rank(0, 0, 0, None, {}, (PYTHON,))) is None, reason="py-spy is not installed")
def test_stacks_name_the_rank_that_the_others_wait_for(tmp_path: Path) -> None:
    logs, said, errors = tmp_path / "logs", tmp_path / "said.jsonl", tmp_path / "stderr"
    logs.mkdir()
    (logs / "train.py").write_text(SCRIPT)
    launch = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", str(JOB)]
    attach = [sys.executable, "-m", "doctor", "attach", str(logs), "--dump", "stacks", "--jsonl", str(said)]
    settings = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    with (logs / "job.log").open("wb") as log, errors.open("wb") as err:
        job = subprocess.Popen(
            [*launch, "loader", "100", "100000", "600"],
            env=settings, stdout=log, stderr=log,
        )  # fmt: skip
        watch = subprocess.Popen(attach, stdout=subprocess.DEVNULL, stderr=err)
        try:
            end = time.monotonic() + PATIENCE
            while last(said).get("rule") != "HNG051":
                assert time.monotonic() < end and watch.poll() is None, errors.read_text()
                time.sleep(0.2)
        finally:
            job.send_signal(signal.SIGTERM)  # torchrun ends its ranks, which are in sessions of their own
            with suppress(subprocess.TimeoutExpired):
                job.wait(60)
            for process in (watch, job):
                process.kill()
                process.wait()
    assert last(said)["entities"] == ["rank:2"]
    assert [json.loads(line)["rule"] for line in said.read_text().splitlines()] == ["LIV001", "HNG051"]
    assert "--dump stacks: taken of ranks 0-3" in errors.read_text()
