"""Dumps that PyTorch itself writes here and now, where it is installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from probes.files.flight_recorder import is_dump, read_dumps
from tests.probes.files.flight_recorder import torch_job
from tests.standing import wait_until_they_stand

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="PyTorch is not installed")


PATIENCE = 240.0


def wait_for(jobs: Sequence[subprocess.Popen[bytes]], folder: Path, name: str) -> None:
    """Waits until every process that is there has made its file of that name."""
    end = time.monotonic() + PATIENCE
    while not all(job.poll() is not None or (folder / f"{name}_{rank}").exists() for rank, job in enumerate(jobs)):
        assert time.monotonic() < end, name
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("scenario", "verdict", "culprits"),
    [
        ("ok", "ok", ()),
        ("absent", "stuck-on-cpu", (2,)),
        ("pair", "stuck-on-cpu", (3,)),
        ("type", "type-mismatch", (3,)),
        ("size", "no-dump", (1,)),  # Gloo ends the process that gets more than it expects
        ("order", "deadlock", (0,)),
        ("skipped", "deadlock", (3,)),
        ("stage", "unrecorded", (1, 2, 3)),  # Gloo records no sends: the stage that stopped is one of these
    ],
)
def test_real_processes_that_go_wrong(tmp_path: Path, scenario: str, verdict: str, culprits: tuple[int, ...]) -> None:
    environment = {**os.environ, "TORCH_FR_BUFFER_SIZE": "2000", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, torch_job.__file__, scenario]
    jobs = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "store"), str(tmp_path)], env=environment)
        for rank in range(torch_job.WORLD)
    ]
    try:
        wait_for(jobs, tmp_path, "begun")
        wait_until_they_stand(lambda: [job.pid for job in jobs if job.poll() is None])
        (tmp_path / "dump").touch()
        wait_for(jobs, tmp_path, "dumped")
        (tmp_path / "leave").touch()
        for job in jobs:
            job.wait(timeout=PATIENCE)
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    for name in ("comm_lib_trace_rank_*", "fr_rank_*.json"):
        paths = sorted(tmp_path.glob(name))
        if not paths:
            pytest.skip("this PyTorch has no flight recorder for Gloo")
        facts = read_dumps([(path, path.name) for path in paths if is_dump(path)]).facts
        values = {fact.name: fact.value for fact in facts if fact.entity == "job"}
        assert (values["fr.verdict"], values.get("fr.culprits", ())) == (verdict, culprits), name
