"""The job that a watch is of, and what is said where it is not to be seen."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.messages import say
from doctor.session.watch.the_job import NoJobError, job_of, why_not
from probes.node.interface.host import this_host
from probes.node.interface.processes import Ranks

RANKS = """
import os, subprocess, sys, time
if "RANK" in os.environ:
    print("ready", flush=True)
    time.sleep(600)
place = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "TORCHELASTIC_RUN_ID": sys.argv[1]}
subprocess.run([sys.executable, *([__file__] if "launched" in sys.argv else [__file__, sys.argv[1], "launched"])],
               env={**os.environ, **(place if "launched" in sys.argv else {})})
"""


def test_a_process_may_be_a_rank_its_launcher_or_the_script_above_it(tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text(RANKS)
    name = f"the-job-{os.getpid()}"
    above = subprocess.Popen([sys.executable, str(script), name], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert above.stdout is not None and above.stdout.readline() == b"ready\n"
        rank = job_of(replace(this_host(), job=name), (), "stacks").ranks[0]
        for pid in (rank.pid, rank.parent, above.pid):
            assert job_of(replace(this_host(), pid=pid), (), "stacks").ranks == (rank,)
    finally:
        os.killpg(above.pid, 9)
        above.wait()
        assert above.stdout is not None
        above.stdout.close()


@pytest.mark.parametrize(
    ("named", "key", "what"),
    [
        ({"pid": 1}, "attach.no_rank", "process 1 is of no training job"),
        ({"job": "812"}, "attach.no_slurm_here", "no rank of Slurm job 812 runs on this node"),
        ({}, "attach.no_job", "no job on this node"),
    ],
)
def test_each_way_of_naming_it_has_its_own_word(named: dict[str, object], key: str, what: str) -> None:
    with pytest.raises(NoJobError) as caught:
        job_of(replace(this_host(), **named), ["/nowhere/job.log"], "stacks")  # type: ignore[arg-type]
    note = caught.value.note
    assert note.key == key and not caught.value.lasting
    assert what in say("en", key, path=note.path, **note.values)


def test_rights_that_lack_are_named_with_what_to_do() -> None:
    """Of the processes of others nothing is to be seen; the logs tell whose the job is."""
    error = why_not(this_host(), Ranks(hidden=4), ["/etc/passwd"], "stacks")
    text = say("en", error.note.key, path=error.note.path, **error.note.values)
    assert error.lasting
    if os.geteuid() == 0:
        assert "root may not look into 4 Python processes" in text and "--cap-add SYS_PTRACE" in text
    else:
        assert "sudo -u root pdoctor attach ... --dump stacks" in text


def test_processes_of_others_are_no_reason_where_the_logs_are_ones_own(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("step 1\n")
    if os.geteuid():
        assert why_not(this_host(), Ranks(hidden=4), [str(log)], "stacks").note.key == "attach.no_job"
    assert why_not(this_host(), Ranks(), ["/etc/passwd"], "stacks").note.key == "attach.no_job"
