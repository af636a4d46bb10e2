"""What the recorder does when somebody asks for a snapshot of GPU memory; each scenario is a function that asserts."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import torch

from doctor import recorder
from doctor.recorder import snapshot
from tests.recorder.gpu import Gpu, install

PLACE = (("/work/metrics.py", "update"), ("/venv/torch/nn/modules/module.py", "_call_impl"))


class Job:
    """A job of one rank on a GPU, which keeps a MiB of each step; `steps` trains on."""

    def __init__(self, folder: str) -> None:
        self.folder, self.gpu = Path(folder), install(Gpu())
        self.model = torch.nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        recorder.attach(self.model, self.optimizer, folder)
        self.steps(1)
        self.pipe = self.folder / ".rank0.ask"
        self.until(self.pipe.exists)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.model(torch.randn(3, 4)).sum().backward()
            self.gpu.alloc(1 << 20, PLACE)
            self.optimizer.step()

    def ask(self) -> None:
        pipe = os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK)
        os.write(pipe, b"1")
        os.close(pipe)

    def until(self, reached: Any) -> None:
        end = time.monotonic() + 60
        while not reached():
            assert time.monotonic() < end
            time.sleep(0.02)

    def told(self) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in (self.folder / "rank0.jsonl").read_text().splitlines()]
        return [line for line in lines if line.get("record") == "snapshot"]

    def ended(self) -> list[dict[str, Any]]:
        recorder.detach()
        assert not self.pipe.exists()
        return self.told()


def history_first(folder: str) -> None:
    """Of a job that records no history one is recorded, over some steps, and ended."""
    job = Job(folder)
    job.ask()
    job.steps(snapshot.STEPS + 3)
    heard, taken = job.ended()
    assert heard["steps"] == snapshot.STEPS and taken["at_step"] == heard["at_step"] + snapshot.STEPS
    assert [one["enabled"] for one in job.gpu.turned] == ["all", None]
    assert job.gpu.turned[0]["max_entries"] == snapshot.ENTRIES
    file = Path(folder) / taken["file"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(pickle.loads(file.read_bytes())["device_traces"][0]) == snapshot.STEPS
    assert sorted(path.name for path in Path(folder).iterdir()) == ["rank0-memory-1.pickle", "rank0.jsonl"]


def own_history(folder: str) -> None:
    """The history that the job records itself is taken at once, and left alone."""
    job = Job(folder)
    job.gpu.recording = True
    job.ask()
    job.steps(1)
    job.until(lambda: job.told())
    assert job.ended()[0]["file"] == "rank0-memory-1.pickle" and job.gpu.recording and not job.gpu.turned


def nobody_asks(folder: str) -> None:
    job = Job(folder)
    job.steps(20)
    assert job.ended() == [] and job.gpu.turned == []


def few_times(folder: str) -> None:
    """However often somebody asks, a process takes few; who asks while one is taken gets that one."""
    job = Job(folder)
    job.gpu.recording = True
    for number in range(snapshot.MOST + 2):
        job.ask()
        job.ask()
        job.steps(1)
        job.until(lambda number=number: len(job.told()) > number)
    told = job.ended()
    assert ["file" in line for line in told] == [True] * snapshot.MOST + [False] * 2
    assert "takes no more" in told[-1]["why"]


def errors(folder: str) -> None:
    """Whatever fails costs the snapshot: the recorder goes on, and nothing of the file is left."""

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("cudaMallocAsync does not yet support snapshots")

    job = Job(folder)
    memory, opened = torch.cuda.memory, os.open

    def full(path: Any, *given: Any) -> int:
        if "memory" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(opened(path, *given))

    kept = memory._record_memory_history, memory._snapshot, snapshot.LARGEST
    for number, spoil in enumerate(("_record_memory_history", "_snapshot", "LARGEST", "disk")):
        job.gpu.recording = spoil != "_record_memory_history"
        if spoil == "LARGEST":
            snapshot.LARGEST = 100
        elif spoil == "disk":
            os.open = full
        else:
            setattr(memory, spoil, fails)
        job.ask()
        job.steps(2)
        job.until(lambda number=number: len(job.told()) > number)
        memory._record_memory_history, memory._snapshot, snapshot.LARGEST = kept
        os.open = opened
    told = job.ended()
    whys = [line["why"].partition(":")[0] for line in told]
    assert whys == ["RuntimeError", "RuntimeError", "ValueError", "OSError"]
    assert [path.name for path in Path(folder).iterdir()] == ["rank0.jsonl"]


def captured(folder: str) -> None:
    """While a graph of the GPU is captured nothing is taken; it is made up for."""
    job = Job(folder)
    job.gpu.recording = True
    torch.cuda.is_current_stream_capturing = lambda: True
    job.ask()
    job.steps(3)
    assert job.told() == []
    torch.cuda.is_current_stream_capturing = lambda: False
    job.steps(1)
    job.until(lambda: job.told())
    assert "file" in job.ended()[0]


def ends_meanwhile(folder: str) -> None:
    """A job that ends while its history is recorded leaves what that has by then, and no pipe."""
    job = Job(folder)
    job.ask()
    job.steps(3)
    job.gpu.oom(1 << 40, 1 << 20, PLACE)
    heard, taken = job.ended()
    assert heard["steps"] == snapshot.STEPS and not job.gpu.recording
    trace = pickle.loads((Path(folder) / taken["file"]).read_bytes())["device_traces"][0]
    assert [entry["action"] for entry in trace] == ["alloc"] * 2 + ["oom"]


def runs_out(folder: str) -> None:
    """An allocator that begins to give its cache back may not come to the end of another step."""
    job = Job(folder)
    job.ask()
    job.steps(3)
    job.gpu.retries = 1
    job.steps(1)
    job.until(lambda: len(job.told()) == 2)
    heard, taken = job.ended()
    assert taken["at_step"] == heard["at_step"] + 3 and "file" in taken


def forked(folder: str) -> None:
    """A worker of a data loader that outlives its rank does not hold the pipe open."""
    job = Job(folder)
    made = os.stat(job.pipe).st_ino
    child = os.fork()
    if child == 0:
        held = set()
        for number in range(256):
            with contextlib.suppress(OSError):
                held.add(os.fstat(number).st_ino)
        os._exit(int(made in held))
    assert os.waitpid(child, 0)[1] == 0
    job.ended()


def off_before(folder: str) -> None:
    """A recorder that its own error switches off before it listens leaves no pipe at which nobody listens."""
    gpu = install(Gpu())
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder.attach(model, optimizer, folder)
    asked = []

    def late() -> bool:
        assert recorder._current is not None
        recorder._current.stop(RuntimeError("an error of its own"))
        asked.append(True)
        return True

    recorder.recorder.memory.on_gpu = late
    model(torch.randn(3, 4)).sum().backward()
    gpu.alloc(1 << 20, PLACE)
    optimizer.step()
    end = time.monotonic() + 60
    while not asked:
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.2)
    assert [path.name for path in Path(folder).iterdir()] == ["rank0.jsonl"]


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
    print("passed")
