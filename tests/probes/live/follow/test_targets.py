"""What a process writes to, and what Slurm calls the outputs of a job."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from probes.live.follow.targets import Processes, SlurmJob, expanded

CHILD = """
import subprocess, sys, time
log = open(sys.argv[1] + "/own.log", "a")
data = open(sys.argv[1] + "/weights.bin", "ab")
read = open(sys.argv[1] + "/input.txt")
child = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"],
                         stdout=open(sys.argv[1] + "/child.out", "w"))
print("ready", flush=True)
try:
    time.sleep(60)
finally:
    child.kill()
"""


def test_outputs_and_open_logs_of_a_process_and_its_children(tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("x")
    with (tmp_path / "job.stdout").open("wb") as out:
        job = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=out, stderr=subprocess.STDOUT)
    try:
        while "ready" not in (tmp_path / "job.stdout").read_text():
            assert job.poll() is None
        processes = Processes([job.pid])
        found = {os.path.basename(path) for path in processes()}
        assert {"job.stdout", "own.log", "child.out"} <= found
        assert not {"weights.bin", "input.txt"} & found
        assert not processes.over()
    finally:
        for child in [pid for pid in Processes([job.pid])._all() if pid != job.pid]:
            os.kill(child, 9)
        job.kill()
        job.wait()
    assert processes.over()


def test_output_that_goes_into_a_pipe_is_told(tmp_path: Path) -> None:
    job = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        processes = Processes([job.pid])
        list(processes())
        assert processes.unreadable[job.pid].startswith("pipe:")
    finally:
        job.kill()
        job.communicate()


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/w/slurm-%j.out", "/w/slurm-812.out"),
        ("/w/%x/%A_%a.out", "/w/llama/812_*.out"),
        ("/w/%j-%t.log", "/w/812-*.log"),
        ("/w/%5t_100%%.log", "/w/*_100%.log"),
    ],
)
def test_file_name_patterns_of_slurm(path: str, pattern: str) -> None:
    assert expanded(path, {"JobId": "812", "JobName": "llama"}) == pattern


def test_a_job_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "slurm-812-0.out"
    log.write_text("x")
    program = tmp_path / "scontrol"
    program.write_text(
        f'#!/bin/sh\ncase "$4" in 812) echo "JobId=812 JobName=llama JobState=$(cat {tmp_path}/state) StdErr={tmp_path}/slurm-%j-%t.out'
        f' StdIn=/dev/null StdOut={tmp_path}/slurm-%j-%t.out" ;; *) echo "Invalid job id specified" >&2; exit 1 ;; esac\n'
    )
    program.chmod(0o755)
    (tmp_path / "state").write_text("RUNNING")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    now = [0.0]
    job = SlurmJob("812", lambda: now[0])
    assert list(job()) == [str(log)]
    assert not job.over()
    (tmp_path / "state").write_text("TIMEOUT")
    now[0] += 60
    assert job.over()
    with pytest.raises(ValueError, match="Invalid job id"):
        SlurmJob("9", lambda: 0.0)
