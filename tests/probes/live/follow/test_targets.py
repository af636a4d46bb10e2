"""What a process writes to, and what Slurm calls the outputs of a job."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probes.live.follow.targets import Files, Processes, SlurmJob, expanded

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
    assert {os.path.basename(path) for path in processes()} == found  # it may have ended before it was read


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


def asked(job: SlurmJob) -> bool:
    job.over()
    job.wait()
    return job.over()


def test_a_controller_that_does_not_answer_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, now = tmp_path / "scontrol", [0.0]
    program.write_text(f"#!/bin/sh\necho JobId=812 JobState=RUNNING StdOut={tmp_path}/out\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    job = SlurmJob("812", lambda: now[0])
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr("probes.live.follow.targets.SLURM_SECONDS", 0.1)
    now[0] += 60
    assert not asked(job)
    program.write_text("#!/bin/sh\necho slurm_load_jobs error: Invalid job id specified >&2; exit 1\n")
    monkeypatch.setattr("probes.live.follow.targets.SLURM_SECONDS", 10.0)
    now[0] += 60
    assert asked(job)


def named(name: str) -> list[str]:
    return [path for path in Files([name])() if path]


def test_what_is_passed_over_gives_others_a_turn(tmp_path: Path) -> None:
    for number in range(50):
        folder = tmp_path / f"shard{number}"
        folder.mkdir()
        (folder / "tokens.npy").touch()
    (tmp_path / "train.log").touch()
    names = list(Files([str(tmp_path)])())
    assert names.count("") >= 100
    assert named(str(tmp_path)) == [str(tmp_path / "train.log")]


def test_a_pattern_of_any_depth_goes_in_no_circles(tmp_path: Path) -> None:
    deep = tmp_path / "run" / "a" / "b"
    deep.mkdir(parents=True)
    for name in ("one", "two"):
        (deep / name).symlink_to("..")
    for path in (tmp_path / "run" / "x.log", deep / "y.log", deep / "z.txt"):
        path.write_text("line")
    for pattern in (f"{tmp_path}/**/*.log", f"{tmp_path}/r*/**/*.log"):
        assert named(pattern) == [str(tmp_path / "run" / "x.log"), str(deep / "y.log")]
    assert len(named(f"{tmp_path}/run/**")) == 3


def test_a_tree_with_links_in_circles_sockets_and_pipes(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(".")
    os.mkfifo(tmp_path / "pipe.log")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(tmp_path / "socket.log"))
        (tmp_path / "nowhere.log").symlink_to("nothing")
        (tmp_path / "device.log").symlink_to("/dev/zero")
        (tmp_path / ".findings.jsonl.0123456789ab").touch()
        (tmp_path / "train.log").touch()
        assert named(str(tmp_path)) == [str(tmp_path / "train.log")]


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
    assert asked(job)
    with pytest.raises(ValueError, match="Invalid job id"):
        SlurmJob("9", lambda: 0.0)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs a mount namespace")
def test_the_files_of_a_container_are_not_those_of_the_same_name_here(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "job.log").write_text("another job\n")
    code = "import sys, time; open(sys.argv[1], 'w').write('this job\\n'); print('ready', flush=True); time.sleep(60)"
    inside = f'mount -t tmpfs none {folder} && exec {sys.executable} -c "$1" {folder}/job.log >{folder}/out.log'
    job = subprocess.Popen(["unshare", "-m", "sh", "-c", inside, "sh", code], stderr=subprocess.PIPE, text=True)
    try:
        out = Path(f"/proc/{job.pid}/root{folder}/out.log")
        while not (out.exists() and "ready" in out.read_text()):
            if job.poll() is not None:
                assert job.stderr is not None
                pytest.skip(job.stderr.read())
            time.sleep(0.02)
        (found,) = Processes([job.pid])()
        assert Path(found).read_text() == "ready\n"
        assert found == str(out)
    finally:
        job.kill()
        job.wait()
