"""What stands in a watch's way costs one line, and it goes on: a disk that is full, folders that go and come back."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from bench.generate import blocks, ending

PATIENCE = 180.0


class Attached:
    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        self.process, self._errors = process, errors

    def says(self, text: str) -> str:
        """Waits until a line on stderr holds `text`; all of stderr."""
        end = time.monotonic() + PATIENCE
        while text not in (told := self._errors.read_text()):
            assert self.process.poll() is None and time.monotonic() < end, told
            time.sleep(0.05)
        return told


@contextmanager
def attached(folder: Path, logs: Path, **paths: Path) -> Iterator[Attached]:
    words = [word for name, path in paths.items() for word in (f"--{name.replace('_', '-')}", str(path))]
    errors = folder / "stderr"
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "doctor", "attach", str(logs), *words], stdout=subprocess.DEVNULL, stderr=file
        )
    one = Attached(process, errors)
    try:
        yield one
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 1, errors.read_text()
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in errors.read_text()


def write(logs: Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for rank in range(2):
        with (logs / f"rank_{rank}.log").open("a") as file:
            file.write("".join(islice(blocks(rank, 2, Random(rank)), 5)))


def fail(logs: Path) -> None:
    with (logs / "rank_1.log").open("a") as file:
        file.write(ending(3))


def rules(said: Path) -> list[str]:
    return [json.loads(line)["rule"] for line in said.read_text().splitlines()]


def test_files_that_cannot_grow_are_said_once_and_written_when_they_can(tmp_path: Path) -> None:
    logs, said = tmp_path / "logs", tmp_path / "said.jsonl"
    write(logs)
    with attached(tmp_path, logs, jsonl=said, state=tmp_path / "state", metrics_file=tmp_path / "m.prom") as one:
        one.says("watching")
        wait_for(tmp_path / "state")
        # As on a disk that is full: what is there stays, and nothing can be added (EFBIG for ENOSPC).
        limit = (tmp_path / "stderr").stat().st_size + 600
        hard = resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (limit, hard))
        fail(logs)
        one.says(f"{said}: cannot be written (File too large)")
        resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        told = one.says(f"{said}: can be written again")
    assert told.count(f"{said}: cannot be written") == 1
    assert rules(said) == ["MEM003"]


def test_a_folder_of_logs_that_goes_and_comes_back(tmp_path: Path) -> None:
    logs, said = tmp_path / "logs", tmp_path / "said.jsonl"
    write(logs)
    with attached(tmp_path, logs, jsonl=said, metrics_file=tmp_path / "m.prom") as one:
        one.says("watching")
        wait_for(tmp_path / "m.prom", b"pdoctor_files 2")
        shutil.rmtree(logs)
        one.says("is gone")
        write(logs)
        fail(logs)
        wait_for(said)
    assert rules(said) == ["MEM003"]


def may_mount() -> bool:
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="only root may mount, and a container may not let it")
def test_a_folder_that_is_unmounted_and_a_disk_that_is_full(tmp_path: Path) -> None:
    logs, small = tmp_path / "logs", tmp_path / "small"
    logs.mkdir()
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o"]
    subprocess.run([*mount, "size=1m", "tmpfs", str(logs)], check=True)
    subprocess.run([*mount, "size=16k", "tmpfs", str(small)], check=True)
    try:
        write(logs)
        with attached(tmp_path, logs, jsonl=small / "said.jsonl", state=small / "state") as one:
            one.says("watching")
            wait_for(small / "state")
            with pytest.raises(OSError, match="No space"), (small / "full").open("wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 1024)
            subprocess.run(["umount", "-l", str(logs)], check=True)
            one.says("is gone")
            write(logs)
            fail(logs)
            one.says("said.jsonl: cannot be written (No space left on device)")
            (small / "full").unlink()
            one.says("said.jsonl: can be written again")
            assert rules(small / "said.jsonl") == ["MEM003"]
    finally:
        subprocess.run(["umount", "-l", str(logs)], check=False, capture_output=True)
        subprocess.run(["umount", "-l", str(small)], check=False, capture_output=True)


def wait_for(path: Path, text: bytes = b"\n") -> None:
    end = time.monotonic() + PATIENCE
    while not (path.exists() and text in path.read_bytes()):
        assert time.monotonic() < end, f"{path.name} does not come"
        time.sleep(0.05)
