"""Real processes with the environment of ranks: what they write and read is found by the real /proc."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import look, read_node
from probes.node import environment, job
from probes.node.interface.host import Host, this_host
from tests.probes.node.hosts import gaps, known, places, texts
from tests.standing import wait_until_they_stand

TRAIN = """
import os, sys, time
print("[rank%s]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB." % os.environ["RANK"], flush=True)
if os.fork() == 0:
    time.sleep(600)  # a worker of the data loader
time.sleep(600)
"""


@pytest.fixture
def host(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Two ranks of a job, each with a log and another value of NCCL_DEBUG, on a host that has no other processes.

    Its /proc holds the folders of these processes in the real one, since other tests start ranks too.
    """
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 3}}')
    with ExitStack() as stack:
        started = []
        for rank in range(2):
            log = stack.enter_context((tmp_path / f"rank{rank}.log").open("w"))
            place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_PORT": f"{os.getpid()}"}
            own = {"NCCL_DEBUG": "INFO" if rank else "WARN", "NCCL_IB_DISABLE": "1", "NCCL_API_TOKEN": "hunter2"}
            command = [sys.executable, "train.py", "--deepspeed", "--deepspeed_config=ds.json", "--api_key=sesame"]
            process = subprocess.Popen(
                command, cwd=tmp_path, env={**os.environ, **place, **own}, stdout=log, start_new_session=True
            )
            started.append(process)
        until = time.monotonic() + 60
        while not all((tmp_path / f"rank{n}.log").stat().st_size for n in range(2)):
            assert time.monotonic() < until, "the ranks do not start"
            time.sleep(0.02)
        wait_until_they_stand(lambda: [process.pid for process in started])
        root = tmp_path_factory.mktemp("root")
        (root / "proc").mkdir()
        (root / tmp_path.parts[1]).symlink_to(Path(*tmp_path.parts[:2]))
        for process in started:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for pid in (process.pid, *children):
                (root / f"proc/{pid}").symlink_to(f"/proc/{pid}")
        yield Host("n1", root)
        for process in started:
            os.killpg(process.pid, 9)
            process.wait()


def test_ranks_their_logs_and_their_configuration(host: Host, tmp_path: Path) -> None:
    given = list(job.probe(host))
    found = known(given)
    assert {entity: value for (name, entity), value in found.items() if name == "rank.local_rank"} == {
        "rank:0": 0,
        "rank:1": 1,
    }
    assert found["rank.host", "rank:1"] == host.name
    assert sorted(os.path.realpath(path) for path in places(given)) == [
        str(tmp_path / name) for name in ("ds.json", "rank0.log", "rank1.log")
    ]


def test_the_command_line_is_read_without_its_secrets(host: Host) -> None:
    (text,) = texts(job.probe(host))
    assert "--deepspeed_config=ds.json" in text.text
    assert "sesame" not in text.text


def test_variables_of_the_ranks_are_those_of_the_job(host: Host) -> None:
    found = known(environment.probe(host))
    assert found["env.NCCL_IB_DISABLE", "job"] == "1"
    assert (found["env.NCCL_DEBUG", "job"], found["env.NCCL_DEBUG", "rank:1"]) == ("WARN", "INFO")
    assert ("env.NCCL_IB_DISABLE", "rank:1") not in found
    assert "hunter2" not in str(found)


def test_the_job_that_was_found_is_diagnosed(host: Host, tmp_path: Path) -> None:
    report = judge(read_node(look(host, ["job", "environment"]), load_rulebase()), Answers())
    kinds = {given.path.rpartition("/")[2]: given.kind for given in report.inputs}
    assert kinds["rank0.log"] == "log" and kinds["ds.json"] == "config"
    assert "torch.cuda_oom" in report.store.event_names()
    stage = report.store.get("config.zero_stage")
    assert stage is not None and stage.value == 3


def test_without_a_job_the_variables_of_this_shell_count(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    shell = Host("n1", tmp_path, {"NCCL_DEBUG": "WARN", "HOME": "/root"})
    found = known(environment.probe(shell))
    assert found == {("env.NCCL_DEBUG", "job"): "WARN", ("env.NCCL_DEBUG", "node:n1"): "WARN"}
    assert list(job.probe(shell)) == []


def test_this_very_machine() -> None:
    assert not [gap for gap in gaps(job.probe(this_host())).values() if "No such" in gap]
