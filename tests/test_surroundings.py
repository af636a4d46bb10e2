"""Where the tests are started from decides none of them: a narrow screen, a job of Slurm, a script's background."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

CODE = """
import json, os, runpy, subprocess, sys
runpy.run_path(sys.argv[1])
print(json.dumps(dict(os.environ)))
subprocess.run(["sh", "-c", "kill -INT $$; echo heeds nothing"])
"""
SAID = {
    "COLUMNS": "50",
    "NO_COLOR": "1",
    "RANK": "3",
    "SLURM_JOB_ID": "7",
    "NCCL_DEBUG": "INFO",
    "PDOCTOR_RECORD": "/x",
}
KEPT = {"PDOCTOR_TEST_PYTHON": "/bin/python", "TZ": "UTC", "RANKING": "x"}


def ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_what_a_shell_or_a_launcher_says_is_gone_and_processes_heed_ctrl_c() -> None:
    command = [sys.executable, "-c", CODE, str(Path(__file__).with_name("conftest.py"))]
    environment = {**os.environ, **SAID, **KEPT}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=ignore, check=True)
    told, *more = done.stdout.splitlines()
    assert not SAID.keys() & json.loads(told).keys() and KEPT.items() <= json.loads(told).items()
    assert more == []
