"""Storage of a job: real processes with files open, and real file systems where this user may mount one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probes.node.interface.host import Host
from probes.node.storage import probe
from tests.probes.node.hosts import host_of, known

NODE = "node:n1"


@contextmanager
def job(root: Path, *arguments: str) -> Iterator[Host]:
    """A rank that appends to the first of `arguments`; the host shows this process alone."""
    code = "import sys; f = open(sys.argv[1], 'a'); g = open('/etc/hostname'); print(flush=True); sys.stdin.read()"
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_PORT": "29418"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, **pipes)  # type: ignore[call-overload]
    try:
        process.stdout.readline()
        host = host_of(root, {})
        (root / "proc").mkdir(parents=True, exist_ok=True)
        (root / f"proc/{process.pid}").symlink_to(f"/proc/{process.pid}")
        for place in {Path(argument).parts[1] for argument in arguments if argument.startswith("/")}:
            (root / place).symlink_to(f"/{place}")
        yield host
    finally:
        process.communicate(timeout=180)


def test_where_a_process_writes_is_told_with_its_room(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with job(tmp_path / "host", f"{folder}/train.log", "--save", f"{folder}/not/there/yet") as host:
        found = known(probe(host))
    shown = found["node.storage", NODE]
    assert isinstance(shown, tuple) and [str(line).partition(":")[0] for line in shown] == [str(folder)]
    assert " GB free" in str(shown[0])
    assert found["node.storage_hung", NODE] == ()
    assert not list(folder.glob("not*")) and (folder / "train.log").stat().st_size == 0


def test_without_a_job_nothing_is_asked(tmp_path: Path) -> None:
    assert list(probe(host_of(tmp_path, {"/proc/version": ""}))) == []


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a file system")
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_small_file_system_is_full(tmp_path: Path) -> None:
    with mounted(tmp_path / "ckpt", "size=4m,nr_inodes=100"), job(tmp_path / "h", f"{tmp_path}/ckpt/x.log") as host:
        found = known(probe(host))
    assert found["node.storage_full", NODE] == found["node.storage_inodes_full", NODE] == (f"{tmp_path}/ckpt",)
    assert "tmpfs" in str(found["node.storage", NODE])


def test_a_checkpoint_folder_that_became_read_only(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with mounted(tmp_path / "ckpt", "ro"), job(tmp_path / "h", str(log), f"--save={tmp_path}/ckpt") as host:
        found = known(probe(host))
    assert found["node.storage_read_only", NODE] == (f"{tmp_path}/ckpt",)
