"""Snapshots of the GPU's allocator when somebody asks: taken at the end of a step, written by a thread of their own.

torch.cuda.memory._snapshot lists what the caching allocator holds, of all GPUs of the process, and asks the GPU
nothing. Who asked for it is known only of what was allocated while a history is recorded: where the job itself records
none, one is recorded over some steps first. Both begin with an underscore and are what PyTorch's guide to GPU memory
tells people to call (docs.pytorch.org, torch_cuda_memory).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from doctor.recorder import memory
from doctor.recorder.pipe import Pipe

MOST = 4
"""Snapshots that a process takes."""
STEPS, ENTRIES = 16, 200_000
"""Steps over which a history is recorded, and entries it holds at most on a GPU, the last ones: three for a tensor that
comes and goes."""
LARGEST = 256 << 20
"""Bytes of a file."""
LAST = 2.0
"""Seconds that the end of the program waits for a file that is being written."""


class Snapshots:
    """Of one rank, into the folder of its recording; `tell` is given a line for each thing that happens.

    Whatever goes wrong is told in such a line: nothing is raised, and the recorder goes on.
    """

    def __init__(self, recording: str, pipe: Pipe, tell: Callable[[dict[str, Any]], None]) -> None:
        self._stem, self._pipe, self._tell = recording.removesuffix(".jsonl"), pipe, tell
        self._taken = 0
        self._wanted = False
        self._until: int | None = None
        self._retries = 0
        self._step = 0
        self._writer: threading.Thread | None = None

    def at_step(self, step: int) -> None:
        """At the end of each step. As long as nobody asks it is one read of the pipe."""
        self._step = step
        try:
            if self._until is None and not self._wanted:
                if self._pipe.asked():
                    self._wanted = True
                else:
                    return
            if self._writing() or _cuda().is_current_stream_capturing():
                return
            if self._until is None:
                self._begin(step)
            elif step >= self._until or _retries() > self._retries:  # it runs out of memory: there may be no next step
                self._take(step)
        except Exception as error:
            self._wanted = False
            self._no_history()
            self._says(step, why=f"{type(error).__name__}: {error}"[:300])

    def close(self) -> None:
        """Takes what a history that was begun has by now, since the job may have run out of memory within it; waits a
        moment for what is being written, and takes the pipe away."""
        if self._until is not None:
            with contextlib.suppress(Exception):  # at the end of the program CUDA may be gone
                self._take(self._step)
        self._no_history()
        if self._writer is not None and self._writer is not threading.current_thread():
            self._writer.join(LAST)
        self._pipe.close()

    def leave(self) -> None:
        self._pipe.leave()

    def _begin(self, step: int) -> None:
        if self._taken >= MOST:
            self._wanted = False
            self._says(step, why=f"has taken {MOST} snapshots, and takes no more")
        elif _records_history():
            self._take(step)
        else:
            self._until, self._retries = step + STEPS, _retries()
            _cuda().memory._record_memory_history("all", context="alloc", stacks="python", max_entries=ENTRIES)
            self._says(step, steps=STEPS)

    def _take(self, step: int) -> None:
        found = _cuda().memory._snapshot()
        self._no_history()
        self._wanted = False
        self._pipe.asked()  # who asked meanwhile gets this one
        self._taken += 1
        self._writer = threading.Thread(target=self._write, args=(found, step), name="pdoctor snapshot", daemon=True)
        self._writer.start()

    def _no_history(self) -> None:
        """Ends the history if it is ours; the job's own is left alone."""
        if self._until is not None:
            self._until = None
            with contextlib.suppress(Exception):
                _cuda().memory._record_memory_history(None)

    def _writing(self) -> bool:
        return self._writer is not None and self._writer.is_alive()

    def _write(self, found: Any, step: int) -> None:
        """Under another name first: a file that has its name is whole."""
        try:
            number = next(n for n in range(1, 10_000) if not os.path.lexists(f"{self._stem}-memory-{n}.pickle"))
            folder, name = os.path.split(f"{self._stem}-memory-{number}.pickle")
            beside = os.path.join(folder, f".{os.getpid()}-{name}")
            try:
                with _Bounded(beside) as file:
                    pickle.Pickler(file, protocol=4).dump(found)
                os.rename(beside, os.path.join(folder, name))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(beside)
                raise
            self._says(step, file=name)
        except Exception as error:
            self._says(step, why=f"{type(error).__name__}: {error}"[:300])

    def _says(self, step: int, **what: Any) -> None:
        self._tell({"record": "snapshot", "at_step": step, **what})


class _Bounded:
    """A new file for the owner alone, of at most LARGEST bytes."""

    def __init__(self, path: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.fdopen(os.open(path, flags, 0o600), "wb")
        self._size = 0

    def write(self, data: Any) -> int:
        self._size += len(data)
        if self._size > LARGEST:
            raise ValueError(f"the snapshot would take more than {LARGEST >> 20} MiB: record a shorter history")
        return self._file.write(data)

    def __enter__(self) -> _Bounded:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _retries() -> int:
    return memory.counters().get("retries", 0)


def _cuda() -> Any:
    return import_module("torch").cuda


def _records_history() -> bool:
    """Does the job record one itself? Where this torch cannot tell, it is taken for granted and nothing is changed."""
    enabled = getattr(import_module("torch")._C, "_cuda_isHistoryEnabled", None)
    return enabled is None or bool(enabled())
