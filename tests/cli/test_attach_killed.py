"""A watch that is killed and started again, while a job writes, rotates its logs and fails: told once, and told."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from bench.generate import blocks, ending

ROUNDS = int(os.environ.get("PDOCTOR_ROUNDS", "3"))
RANKS = 4
PATIENCE = 180.0


class Job:
    """Four ranks that write steps into files which are rotated now and then; rank 3 runs out of memory in the end."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.paths = [folder / f"rank_{rank}.log" for rank in range(RANKS)]
        self.steps = [blocks(rank, RANKS, random.Random(rank)) for rank in range(RANKS)]
        self.rng = rng

    def write(self) -> None:
        for path, steps in zip(self.paths, self.steps, strict=True):
            with path.open("a") as file:
                file.write("".join(islice(steps, self.rng.randrange(1, 4))))

    def rotate(self) -> None:
        path = self.rng.choice(self.paths)
        if path.exists():
            for number in range(9, 0, -1):
                older = path.with_name(f"{path.name}.{number}")
                if older.exists():
                    older.rename(path.with_name(f"{path.name}.{number + 1}"))
            path.rename(path.with_name(f"{path.name}.1"))
            path.touch()

    def fail(self) -> None:
        for rank in (3, 0, 1, 2):
            with self.paths[rank].open("a") as file:
                file.write(ending(rank))


def start(folder: Path, out: Path) -> subprocess.Popen[bytes]:
    words = ["--jsonl", str(folder.parent / "said.jsonl"), "--state", str(folder.parent / "state"), "-q", "--no-color"]
    with out.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "doctor", "attach", str(folder), *words], stdout=file, stderr=file
        )


def wait_for(path: Path, text: bytes = b"") -> None:
    end = time.monotonic() + PATIENCE
    while not path.exists() or text not in path.read_bytes():
        assert time.monotonic() < end, f"{path.name} does not come"
        time.sleep(0.05)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_any_moment_it_says_each_thing_once(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder, out, said = tmp_path / "logs", tmp_path / "out", tmp_path / "said.jsonl"
    folder.mkdir()
    job = Job(folder, rng)
    job.write()
    process = start(folder, out)
    wait_for(tmp_path / "state")
    try:
        fails_at, kills = rng.randrange(20, 40), 0
        for turn in range(60):
            job.write()
            if turn == fails_at:
                job.fail()
            if rng.random() < 0.2:
                job.rotate()
            if rng.random() < 0.08 or (turn == fails_at and rng.random() < 0.7):
                time.sleep(rng.uniform(0.0, 0.6))
                kill(process)
                kills += 1
                for _ in range(rng.randrange(3)):
                    job.write()
                    if rng.random() < 0.5:
                        job.rotate()
                process = start(folder, out)
            time.sleep(0.1)
        wait_for(said, b'"new"')
        time.sleep(3.0)
    finally:
        kill(process)
    told = [json.loads(line)["announced"] for line in said.read_text().splitlines()]
    news = Counter(one["key"] for one in told if one["kind"] == "new")
    assert news == {"MEM003": 1}, (kills, told)
    assert max(Counter(one["id"] for one in told).values()) == 1
