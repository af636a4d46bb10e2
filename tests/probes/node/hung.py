"""Real jobs of four ranks over gloo, started by torchrun or one by one, that hang in one way or another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tests.sockets import free_port
from tests.standing import wait_until_they_stand

PYTHON = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")
RANKS = 4
PATIENCE = 120.0

TRAIN = """
import os, sys, time
import torch, torch.distributed as dist

def load_batch(step):
    time.sleep(3600)

class Storage:
    def write(self, data):
        time.sleep(3600)
    def flush(self):
        pass

def save_checkpoint(step):
    torch.save({"weight": torch.ones(4)}, Storage())

def evaluate(tensor):
    dist.all_gather([torch.empty_like(tensor) for _ in range(dist.get_world_size())], tensor)

def train(how):
    odd = dist.get_rank() == 2
    for step in range(1_000_000):
        if step == 3:
            print("ready", flush=True)
            if odd and how == "data":
                load_batch(step)
            if odd and how == "save":
                save_checkpoint(step)
            if odd and how == "other-collective":
                evaluate(torch.ones(4))
            if odd and how == "exception":
                try:
                    raise ValueError("a sample that cannot be decoded")
                except ValueError:
                    time.sleep(3600)
        dist.all_reduce(torch.ones(256))
        if how == "healthy":
            time.sleep(0.01)

torch.set_num_threads(1)
if sys.argv[1] == "forks":
    while os.environ["LOCAL"] != "3" and os.fork() == 0:
        os.environ["LOCAL"] = str(int(os.environ["LOCAL"]) + 1)
    os.environ["RANK"] = os.environ["LOCAL"]
    dist.init_process_group("gloo")
    if dist.get_rank() == 1 and os.fork() == 0:
        time.sleep(3600)  # a worker, which holds the sockets of its rank
    train("data")
if sys.argv[1] == "gone":
    print("ready", flush=True)
    if os.environ["RANK"] == "2":
        time.sleep(3600)
dist.init_process_group("gloo")
train(sys.argv[1])
"""


@dataclass(slots=True)
class Running:
    """A job: its port, which is its name, its folder, its launcher or, without one, its ranks."""

    port: int
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.port)

    @property
    def log(self) -> Path:
        return self.folder / "job.log"

    def pids(self) -> list[int]:
        """Every process that has this job's port in its environment."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdecimal() and f"MASTER_PORT={self.port}\0".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found


@contextmanager
def job(folder: Path, how: str, torchrun: bool = True, ranks: int = RANKS) -> Iterator[Running]:
    """A job whose rank 2 does `how` at its third step, once it stands; nothing of it is left afterwards."""
    running = Running(free_port(), folder)
    script = folder / "train.py"
    script.write_text(TRAIN)
    settings = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    settings = {name: value for name, value in settings.items() if not name.startswith(("MASTER_", "RANK", "WORLD_"))}
    with running.log.open("wb") as log:
        try:
            if torchrun:
                head = [PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--nnodes", "1"]
                head += ["--master-addr", "127.0.0.1", "--master-port", str(running.port)]
                running.processes.append(_start([*head, str(script), how], folder, settings, log))
            for rank in range(0 if torchrun or how == "forks" else ranks):
                place = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank, "MASTER_PORT": running.port}
                own = {"MASTER_ADDR": "127.0.0.1", **{name: str(value) for name, value in place.items()}}
                running.processes.append(_start([PYTHON, str(script), how], folder, {**settings, **own}, log))
            if how == "forks":
                place = {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "4", "LOCAL": "0", "MASTER_PORT": str(running.port)}
                running.processes.append(_start([PYTHON, str(script), how], folder, {**settings, **place}, log))
            _wait_until(lambda: running.log.read_bytes().count(b"ready") >= ranks, running)
            if how != "healthy":
                wait_until_they_stand(running.pids, polling=int(how == "gone"))  # rank 0, for who comes to its store
            yield running
        finally:
            for process in running.processes:
                process.send_signal(signal.SIGTERM)
            for pid in running.pids():
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            for process in running.processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(30)
                process.kill()
                process.wait()


def _start(command: list[str], folder: Path, settings: dict[str, str], log: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, cwd=folder, env=settings, stdout=log, stderr=subprocess.STDOUT, start_new_session=True  # type: ignore[call-overload]
    )  # fmt: skip


def _wait_until(reached: object, running: Running) -> None:
    until = time.monotonic() + PATIENCE
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < until, running.log.read_text()[-2000:]
        assert all(process.poll() is None for process in running.processes), running.log.read_text()[-2000:]
        time.sleep(0.2)
