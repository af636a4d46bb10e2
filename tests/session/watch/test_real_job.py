"""A real job of four ranks over gloo under torchrun, one rank of which goes wrong while pdoctor is attached."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.watch.follow import follow
from doctor.session.watch.model import Announcement, Kind
from doctor.session.watch.watch import Watch

JOB = Path(__file__).with_name("job.py")
PYTHON = os.environ.get("PDOCTOR_TORCH_PYTHON", sys.executable)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None and sys.executable == PYTHON, reason="torch is not installed"
)

FREE = "               total        used        free      shared  buff/cache   available\n"


@dataclass(slots=True)
class Job:
    """The job and the watch of its folder; `said` with the time at which each was said."""

    folder: Path
    process: subprocess.Popen[bytes]
    watch: Watch
    said: list[Announcement] = field(default_factory=list)

    def until(self, seconds: float, *kinds: Kind, rules: tuple[str, ...] = ()) -> Announcement | None:
        """Watches until something of `kinds` is said, of one of `rules` if any are named."""
        end = time.time() + seconds
        while time.time() < end:
            said = self.watch.turn().said
            self.said += said
            for one in said:
                if one.kind in kinds and (not rules or (one.finding and one.finding.rule.id in rules)):
                    return one
            time.sleep(0.1)
        return None


Start: TypeAlias = Callable[[str, int, int, float], Job]
"""What goes wrong, at which step, of how many, and the time-out of the process group in seconds."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Start]:
    jobs: list[Job] = []

    def start(how: str, at: int, steps: int, timeout: float) -> Job:
        (tmp_path / "train.sh").write_text(f"torchrun --nproc_per_node 4 job.py --ddp_timeout {timeout:.0f}\n")
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 10
        (tmp_path / "free.txt").write_text(f"{FREE}Mem:  {total}  {total // 10}  {total // 2}  0  0  {total // 2}\n")
        launcher = (tmp_path / "launcher.log").open("wb")
        command = ["-m", "torch.distributed.run", "--nproc-per-node", "4", "--redirects", "3"]
        arguments = ["--log-dir", str(tmp_path / "logs"), str(JOB), how, str(at), str(steps), str(timeout)]
        process = subprocess.Popen(
            [PYTHON, *command, "--standalone", *arguments],
            stdout=launcher, stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        following = follow([str(tmp_path)])
        jobs.append(Job(tmp_path, process, Watch(load_rulebase(), following.follower, following.roots)))
        return jobs[-1]

    yield start
    for job in jobs:
        if job.process.poll() is None:
            os.killpg(job.process.pid, signal.SIGTERM)  # the agent ends its ranks, which have sessions of their own
        job.process.wait()
        job.watch.follower.close()


def test_a_rank_that_raises_is_named_with_the_line(run: Start) -> None:
    job = run("raise", 30, 400, 60)
    said = job.until(240, Kind.NEW, Kind.UNEXPLAINED)
    while said is not None and said.entities == ("job",):  # the launcher's line was read first
        said = job.until(120, Kind.NEW, Kind.UNEXPLAINED)
    assert said is not None
    assert said.entities == ("rank:2",)
    assert "token id 50257" in said.report.diagnosis.unexplained[0].source.text


def test_a_rank_that_is_killed_is_named(run: Start) -> None:
    job = run("kill", 30, 400, 60)
    said = job.until(240, Kind.NEW)
    assert said is not None and said.finding is not None
    assert said.finding.rule.cause == "host-oom-kill"
    assert said.entities == ("rank:2",)


@pytest.mark.parametrize("how", ["loader", "collective"])
def test_a_hang_is_told_before_the_time_out_strikes(run: Start, how: str) -> None:
    job = run(how, 60, 4000, 60)
    said = job.until(240, Kind.NEW, Kind.UNEXPLAINED)
    assert said is not None and said.finding is not None
    assert said.finding.rule.id == "LIV001"
    assert job.process.poll() is None
    last = max(path.stat().st_mtime for path in job.folder.rglob("stdout.log"))
    assert time.time() - last < 60


def test_a_rank_that_becomes_slow_is_named_with_what_it_waits_for(run: Start) -> None:
    job = run("slow", 60, 400, 60)
    said = job.until(240, Kind.NEW)
    assert said is not None and said.finding is not None
    assert said.finding.rule.id == "LIV011"
    assert said.entities == ("rank:2",)
    assert "waiting for data" in said.finding.outcomes[0].note.en


def test_a_rank_whose_host_memory_grows(run: Start) -> None:
    job = run("leak", 1, 4000, 60)
    said = job.until(240, Kind.NEW, rules=("LIV005",))
    assert said is not None
    assert said.entities == ("rank:2",)


def test_a_job_without_fault_is_silent(run: Start) -> None:
    job = run("fine", 1, 150, 60)
    while job.process.poll() is None:
        job.until(1, *Kind)
    assert job.process.returncode == 0
    assert job.said == []
    assert job.watch.finish() == []
