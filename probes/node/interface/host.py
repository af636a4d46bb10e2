"""The host a probe looks at: its files below a root, its programs, its clock. Tests give another root."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MOST_TEXT = 1 << 20
MOST_OUTPUT = 8 << 20
WINDOW = 1.0
"""Seconds for which counters and events are watched, unless a person asks for more."""
MOST_CROWDED = 4.0
"""The most by which probes are given longer on a node that is busy."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended: its exit status, and what it printed."""

    status: int
    out: str
    error: str


def run(command: Sequence[str], seconds: float) -> Ran:
    """Runs a program without input and in the C locale; OSError when that fails or lasts."""
    environment = {**os.environ, "LC_ALL": "C"}
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": seconds, "env": environment}
    try:
        done = subprocess.run(command, check=False, **options)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{command[0]} gave no answer within {seconds:g} s") from None
    out, error = (part[:MOST_OUTPUT].decode("utf-8", errors="replace") for part in (done.stdout, done.stderr))
    return Ran(done.returncode, out, error)


class Memo:
    """What several probes ask at the same time is found out once; a few seconds later it is found out anew."""

    def __init__(self, seconds: float = 3.0) -> None:
        self._seconds, self._lock = seconds, threading.Lock()
        self._known: dict[object, tuple[float, object]] = {}

    def of(self, key: object, find: Callable[[], T]) -> T:
        """What `find` gave for `key` lately; those that ask meanwhile wait for it."""
        with self._lock:
            moment, value = self._known.get(key, (-inf, None))
            if time.monotonic() - moment > self._seconds:
                value = find()
                self._known[key] = (time.monotonic(), value)
            return value  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Host:
    """`name` is what facts call the node; `python` the job's interpreter, `job` and `pid` the job, where a person named
    them; `native` asks for the frames of libraries too; `window` is how long counters and events are watched, in s."""

    name: str
    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    job: str = ""
    pid: int = 0
    native: bool = False
    window: float = WINDOW
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)
    clock: Callable[[], float] = time.time
    run: Callable[[Sequence[str], float], Ran] = run

    @property
    def node(self) -> str:
        return f"node:{self.name}"

    def gpu(self, index: object) -> str:
        return f"gpu:{self.name}/{index}"

    def nic(self, device: str) -> str:
        return f"nic:{self.name}/{device}"

    def path(self, absolute: str) -> Path:
        """Where the host's file `absolute` lies."""
        return self.root / absolute.lstrip("/")

    def text(self, absolute: str, most: int = MOST_TEXT) -> str:
        """The head of a file, without the white space around it; OSError when it cannot be read."""
        with self.path(absolute).open("rb") as file:
            return file.read(most).decode("utf-8", errors="replace").strip()

    def crowding(self) -> float:
        """How many threads want a processor for each that there is, from 1 to MOST_CROWDED, by the load of the last
        minute and by what runs now (proc(5)): by so much does work take longer that waits for nothing else."""
        try:
            load, _, _, running, *_ = self.text("/proc/loadavg").split()
            wanted = max(float(load), int(running.partition("/")[0]) - 1.0)
        except (OSError, ValueError):
            return 1.0
        return round(min(max(wanted / len(os.sched_getaffinity(0)), 1.0), MOST_CROWDED), 1)

    def names(self, absolute: str) -> list[str]:
        """What lies in a folder, in order; OSError when it cannot be listed."""
        return sorted(os.listdir(self.path(absolute)), key=natural)


def this_host(root: Path = Path("/"), python: str = "", job: str = "", pid: int = 0, native: bool = False) -> Host:
    return Host(socket.gethostname(), root, dict(os.environ), python, job, pid, native)


def natural(name: str) -> list[tuple[int, str]]:
    """Sorts mlx5_2 before mlx5_10."""
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d{1,18})", name)]
