"""Snapshots that the recorder takes when asked, in one process of the job's interpreter whose GPU is replaced."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from doctor.recorder.pipe import Pipe, path_of
from tests.recorder.jobs import PYTHON, ROOT, needs_torch

SCENARIOS = Path(__file__).parent / "asked.py"


@needs_torch
@pytest.mark.parametrize(
    "scenario",
    (
        *("history_first", "own_history", "nobody_asks", "few_times", "errors", "captured", "ends_meanwhile"),
        *("runs_out", "forked", "off_before"),
    ),
)
def test_it_takes_snapshots_and_disturbs_nothing(scenario: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment.pop("PDOCTOR_RECORD", None)
    command = [PYTHON, str(SCENARIOS), scenario, str(tmp_path / "records")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment, check=False)
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr
    assert ("recorder: off" in done.stderr) == (scenario == "off_before")


def test_the_pipe_is_hidden_beside_the_recording() -> None:
    assert path_of("/runs/record/rank12.jsonl") == "/runs/record/.rank12.ask"


def test_a_pipe_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        pipe = Pipe(str(tmp_path / ".rank0.ask"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(pipe.path).st_mode) == 0o600
    pipe.close()
    assert not list(tmp_path.iterdir())


def test_whatever_is_written_asks_once_and_nothing_does_not(tmp_path: Path) -> None:
    pipe = Pipe(str(tmp_path / ".rank0.ask"))
    assert not pipe.asked()
    with open(pipe.path, "wb", buffering=0) as writer:
        assert not pipe.asked()
        writer.write(b"__import__('os').abort()\n" * 2)
        assert pipe.asked()
        assert not pipe.asked()
    assert not pipe.asked()
    pipe.close()


def test_a_pipe_that_was_left_behind_is_made_anew(tmp_path: Path) -> None:
    path = str(tmp_path / ".rank0.ask")
    left = Pipe(path)
    pipe = Pipe(path)
    left.close()  # the process before ends late: what lies there is no longer its own
    assert os.path.exists(path)
    pipe.close()
    assert not os.path.exists(path)


@pytest.mark.parametrize("what", ("file", "folder", "link"))
def test_what_is_no_pipe_stays_and_nobody_can_ask(what: str, tmp_path: Path) -> None:
    path = tmp_path / ".rank0.ask"
    if what == "file":
        path.write_text("kept")
    elif what == "folder":
        path.mkdir()
    else:
        os.mkfifo(tmp_path / "other")
        path.symlink_to(tmp_path / "other")
    with pytest.raises(OSError):
        Pipe(str(path))
    assert path.exists() and (what != "file" or path.read_text() == "kept")
