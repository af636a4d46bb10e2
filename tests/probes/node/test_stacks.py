"""Real ranks that hang, started by the real torchrun and looked at by the real py-spy: the one to blame is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import jobs_on, look, read_node
from doctor.session.report import Report
from doctor.session.stack_tree import stacks_of
from probes.node import stacks
from probes.node.interface.host import Host, Ran, this_host
from probes.node.interface.processes import Rank, ranks_here
from probes.node.interface.py_spy import find
from tests.probes.node.hosts import gaps, host_of, known
from tests.probes.node.hung import PYTHON, job
from tests.standing import wait_until_they_stand

NOBODY = Rank(0, 0, 0, None, {}, (PYTHON,))
needs_torch = pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")
needs_py_spy = pytest.mark.skipif(find(this_host(), NOBODY) is None, reason="py-spy is not installed")


def seen(name: str) -> Report:
    """The report of the job called `name`, by its processes and their stacks."""
    host = replace(this_host(), job=name)
    return judge(read_node(look(host, ["job", "stacks"]), load_rulebase()), Answers())


@needs_torch
@needs_py_spy
@pytest.mark.parametrize(
    ("how", "rule", "place"),
    [
        ("data", "HNG051", "load_batch"),
        ("save", "HNG052", "write"),
        ("exception", "HNG053", "train"),
        ("other-collective", "HNG054", "evaluate"),
    ],
)
def test_the_rank_that_the_others_wait_for_is_named(how: str, rule: str, place: str, tmp_path: Path) -> None:
    with job(tmp_path, how) as running:
        report = seen(running.name)
    (root,) = report.diagnosis.roots
    assert (root.rule.id, root.entities) == (rule, ("rank:2",))
    assert place in root.sources[0].text and "rank 2" in root.sources[0].text
    assert report.store.get("stack.waiting").value == (0, 1, 3)  # type: ignore[union-attr]
    (tree,) = stacks_of(report.store)
    assert tree.ranks == (0, 1, 2, 3) and tree.frames[0].startswith("<module>")
    assert {branch.ranks for branch in tree.branches} == {(0, 1, 3), (2,)}
    assert running.pids() == []


@needs_torch
@needs_py_spy
def test_a_rank_that_was_killed_is_named_while_the_others_wait_for_it(tmp_path: Path) -> None:
    with job(tmp_path, "gone", torchrun=False) as running:
        running.processes[2].kill()
        running.processes[2].wait()
        time.sleep(stacks.SETTLED + 1.0)
        report = seen(running.name)
    (root,) = report.diagnosis.roots
    assert (root.rule.id, root.entities) == ("HNG055", ("rank:2",))
    assert report.store.get("job.ranks_missing").value == (2,)  # type: ignore[union-attr]


@needs_torch
@needs_py_spy
def test_ranks_that_a_script_forks_are_found_by_their_connections(tmp_path: Path) -> None:
    with job(tmp_path, "forks", torchrun=False) as running:
        host = replace(this_host(), pid=running.processes[0].pid)
        report = judge(read_node(look(host, ["job", "stacks"]), load_rulebase()), Answers())
    assert report.store.get("job.ranks_here").value == (0, 1, 2, 3)  # type: ignore[union-attr]
    (root,) = report.diagnosis.roots
    assert (root.rule.id, root.entities) == ("HNG051", ("rank:2",))
    assert any("order in which they began" in str(fact.value) for fact in report.store.failed())


@needs_torch
@needs_py_spy
def test_of_two_jobs_the_one_that_hangs_is_told_from_the_one_that_runs(tmp_path: Path) -> None:
    first, second = tmp_path / "runs", tmp_path / "hangs"
    first.mkdir(), second.mkdir()
    with job(first, "healthy", ranks=2) as runs, job(second, "data") as hangs:
        names = {one.name: one.ranks for one in jobs_on(this_host())}
        assert (names[runs.name], names[hangs.name]) == (2, 4)
        (rank, _) = ranks_here(replace(this_host(), job=runs.name)).job
        assert ranks_here(replace(this_host(), pid=rank.pid)).job[0].pid == rank.pid
        healthy = seen(runs.name)
        told = subprocess.run(
            [sys.executable, "-m", "doctor", "run", "--no-input", "--json", "--pid", str(hangs.processes[0].pid)],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert healthy.diagnosis.roots == () and str(healthy.diagnosis.verdict) != "problem"
    assert told.returncode == 1, told.stderr
    data = json.loads(told.stdout)
    assert [(found["rule"], found["entities"]) for found in data["findings"] if found["role"] == "root"] == [
        ("HNG051", ["rank:2"])
    ]
    assert data["stacks"][0]["ranks"] == [0, 1, 2, 3]
    assert any(runs.name in gap["why"] and "--job" in gap["why"] for gap in data["not_checked"])
    assert runs.pids() == hangs.pids() == []


PLACE = "RANK=0\0WORLD_SIZE=1\0MASTER_PORT=29500\0"
PROCESS = {
    "/proc/71/cmdline": "python\0train.py\0",
    "/proc/71/environ": PLACE,
    "/proc/71/stat": "71 (python) S 1 71 71" + " 0" * 16,
}


def refusing(root: Path, error: str, **more: str) -> Host:
    """A host with one rank and a py-spy that fails with `error`."""
    program = root / "bin/py-spy"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o755)
    host = host_of(root, {**PROCESS, **more}, {"PATH": str(program.parent)})
    return replace(host, run=lambda command, seconds: Ran(1, "", error))


def test_what_is_not_permitted_is_not_checked_and_the_command_is_told(tmp_path: Path) -> None:
    denied = "Permission Denied: Try running again with elevated permissions by going 'sudo env \"PATH=$PATH\" !!'\n"
    host = refusing(tmp_path, denied, **{"/proc/self/status": "CapEff:\t00000000a80425fb\n"})
    reason = gaps(stacks.probe(host))["stack.frames"]
    assert "py-spy dump --pid 71" in reason
    if os.geteuid() == 0:
        assert "--cap-add SYS_PTRACE" in reason
        return
    assert "sudo" in reason


def test_another_failure_is_told_in_its_own_words(tmp_path: Path) -> None:
    host = refusing(tmp_path, "Error: Failed to find a python interpreter in the .data section\n")
    assert "Failed to find a python interpreter" in gaps(stacks.probe(host))["stack.frames"]


def test_a_rank_is_looked_at_twice_however_late_the_second_look_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a single look one that runs cannot be told from one that stands."""
    looks: list[str] = []

    def moves(command: object, seconds: float) -> Ran:
        looks.append("step" if looks else "load")
        frame = {"name": looks[-1], "filename": "/job/train.py", "short_filename": "train.py", "line": len(looks)}
        thread = {"pid": 71, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": 71, "frames": [frame]}
        return Ran(0, json.dumps([{**thread, "active": True, "owns_gil": True, "process_info": None}]), "")

    monkeypatch.setattr(stacks, "LATE", -3600.0)
    found = known(stacks.probe(replace(refusing(tmp_path, ""), run=moves)))
    assert looks == ["load", "step"]
    assert (found["stack.verdict", "job"], found["stack.moved", "rank:0"]) == ("running", True)


def test_without_a_job_nothing_is_said_of_stacks(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert list(stacks.probe(Host("n1", tmp_path))) == []


@needs_py_spy
def test_a_single_process_waits_for_nobody(tmp_path: Path) -> None:
    place = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_PORT": "1"}
    program = "import time\ndef sleeps():\n    time.sleep(600)\nsleeps()\n"
    (tmp_path / "train.py").write_text(program)
    command = [sys.executable, "train.py"]
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **place}, start_new_session=True)
    try:
        wait_until_they_stand(lambda: [process.pid])
        found = known(stacks.probe(replace(this_host(), pid=process.pid)))
    finally:
        process.kill()
        process.wait()
    assert (found["stack.verdict", "job"], found["stack.doing", "rank:0"]) == ("alone", "code")
    assert found["stack.frame", "rank:0"] == "sleeps (train.py:3)"
    assert not [name for name, _ in found if name == "stack.fault"]
