"""The same reading of files on other processes or machines, over dask.distributed (extra `cluster`).

Each file is one task, a pure function of the file. Whatever does not come back is read here: a worker that died, one
that does not see the file or sees another one under its path, one that runs another version of pdoctor.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import doctor
from doctor.session.inputs import InputError
from doctor.session.notes import Note

RETRIES = 2
"""Times a task is tried again whose worker failed; the scheduler gives up on one that kills three workers."""
PATIENCE = 30.0
"""Seconds in which a scheduler must answer and a first worker come."""
POLL = 2.0
"""Seconds between looks at the workers, while no result comes."""
MOST_LOCAL = 64
SHARED = 1 << 14
"""Bytes from which on an argument goes to each worker once, and not with every task."""
LOCAL_ANY_PORT = "127.0.0.1:0"
"""Where the scheduler's pages are served: they cannot be left out, and nobody else is to see them."""


class ElsewhereError(Exception):
    """The worker cannot read the file that is meant: it is read here."""


class NoWorkerError(Exception):
    """The scheduler has no worker left, and none came for a while."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Stands in a task for data that lie on the workers already: their place among those that the task is given."""

    place: int


@dataclass(frozen=True, slots=True)
class Task:
    """A reader with its arguments, of which the first is the path, and how the file looks from here."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    size: int
    time: int
    version: str


def perform(task: Task, *shared: bytes) -> Any:
    """Runs a task on a worker, if the file there is the one that is meant."""
    if task.version != doctor.__version__:
        raise ElsewhereError(f"runs pdoctor {doctor.__version__}, not {task.version}")
    if _looks(task.arguments[0]) != (task.size, task.time):
        raise ElsewhereError("does not see the file, or sees another one")
    return task.function(*(shared[one.place] if isinstance(one, Shared) else one for one in task.arguments))


class Cluster:
    """Workers that read files. `remarks` say what did not go as it should."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._spread: dict[bytes, Any] = {}
        self.remarks: list[str] = []

    def __call__(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], done: Callable[[int, Any], None]
    ) -> list[int]:
        """Runs `function` on each of `calls`; `done` is told each result with its place. What is left is given back.

        The first argument of a call is the path of a file.
        """
        left = set(range(len(calls)))
        reasons: Counter[str] = Counter()
        places: dict[Any, int] = {}
        ended: SimpleQueue[Any] = SimpleQueue()
        try:
            for place, arguments in enumerate(calls):
                look = _looks(arguments[0])
                if look is not None:
                    own, shared = self._shared(arguments)
                    task = Task(function, own, *look, doctor.__version__)
                    future = self._client.submit(perform, task, *shared, retries=RETRIES, pure=False)
                    places[future] = place
                    future.add_done_callback(ended.put)
            for _ in places:
                future = self._next(ended)
                if future.status == "finished":
                    done(places[future], future.result(timeout=PATIENCE))
                    left.discard(places[future])
                else:
                    error = future.exception(timeout=PATIENCE) if future.status == "error" else None
                    reasons[type(error).__name__ if error is not None else str(future.status)] += 1
        except Exception as error:  # the scheduler or all workers are gone: what was read is kept
            reasons[type(error).__name__] += 1
        finally:
            with suppress(Exception):
                self._client.cancel(list(places))
        if left:
            told = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()))
            self.remarks.append(f"{len(left)} of {len(calls)} files were read here and not on the cluster ({told})")
        return sorted(left)

    def _shared(self, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]]:
        """The arguments with stand-ins for large data, and these data as they lie on the workers."""
        own, shared = [], []
        for one in arguments:
            if isinstance(one, bytes) and len(one) >= SHARED:
                if one not in self._spread:
                    self._spread[one] = self._client.scatter(one, broadcast=True)
                shared.append(self._spread[one])
                one = Shared(len(shared) - 1)
            own.append(one)
        return tuple(own), shared

    def _next(self, ended: SimpleQueue[Any]) -> Any:
        """The next task that ended; raises NoWorkerError once nobody is there who could end one."""
        deserted = 0.0
        while True:
            with suppress(Empty):
                return ended.get(timeout=POLL)
            deserted = 0.0 if self._client.nthreads() else deserted + POLL
            if deserted >= PATIENCE:
                raise NoWorkerError("all workers are gone")


@contextmanager
def cluster(place: str) -> Iterator[Cluster]:
    """Workers at `place`: `local` (processes here), `dask://HOST:PORT` (a running scheduler), `slurm` (on the nodes of
    the allocation that this runs in). Raises InputError when there is no such cluster or no worker comes."""
    if place not in ("local", "slurm") and not place.startswith("dask://"):
        raise InputError(Note("cluster.unknown", place))
    try:
        from distributed import Client
    except ImportError:
        raise InputError(Note("cluster.missing", place)) from None
    with _hushed(), ExitStack() as stack:
        try:
            if place == "local":
                address = stack.enter_context(_processes(min(len(os.sched_getaffinity(0)), MOST_LOCAL)))
            elif place == "slurm":
                address = stack.enter_context(_allocation())
            else:
                address = "tcp://" + place.removeprefix("dask://")
            client = stack.enter_context(Client(address, timeout=PATIENCE, set_as_default=False))
            client.wait_for_workers(1, timeout=PATIENCE)
        except InputError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(Note("cluster.unreachable", place, {"reason": reason})) from None
        yield Cluster(client)


@contextmanager
def _hushed() -> Iterator[None]:
    """What goes wrong is told by us, in one line; the program below would tell it in pages."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _processes(count: int) -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address=LOCAL_ANY_PORT, silence_logs=50
    ) as made:
        yield str(made.scheduler_address)


@contextmanager
def _allocation() -> Iterator[str]:
    """A scheduler here, and one worker for each CPU that Slurm gives a task, on every node of the allocation."""
    from distributed import LocalCluster

    if not os.environ.get("SLURM_JOB_ID"):
        raise InputError(Note("cluster.no_allocation", "slurm"))
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "1")
    each = os.environ.get("SLURM_CPUS_ON_NODE", "1")
    host = socket.gethostname()
    with LocalCluster(n_workers=0, host=host, dashboard_address=LOCAL_ANY_PORT, silence_logs=50) as made:
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", made.scheduler_address]
        options = ["--nworkers", each, "--nthreads", "1", "--no-dashboard", "--death-timeout", "60"]
        step = ["srun", "--overlap", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
        quiet = subprocess.DEVNULL
        with subprocess.Popen([*step, *worker, *options], stdin=quiet, stdout=quiet, stderr=quiet) as process:
            try:
                yield str(made.scheduler_address)
            finally:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)
                process.kill()


def _looks(path: Any) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
