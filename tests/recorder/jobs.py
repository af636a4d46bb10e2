"""Runs the job beside this file as torchrun does, and diagnoses what was recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from doctor.session.analyze import analyze_paths
from doctor.session.report import Report

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).parent / "job.py"
PYTHON = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")
needs_torch = pytest.mark.skipif(not PYTHON, reason="torch is not installed, and the recorded job needs it")


def run_job(folder: Path, *options: str, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    """Runs it to its end; what it records lies in `folder`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PDOCTOR_RECORD": str(folder), "OMP_NUM_THREADS": "1"}
    command = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    command += [str(JOB), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, check=False)


def diagnosed(folder: Path) -> Report:
    return analyze_paths([folder])


def roots(report: Report) -> set[str]:
    return {finding.rule.id for finding in report.diagnosis.roots}
