"""What is named to be followed, as files: paths, patterns, folders, files of processes, outputs of a Slurm job."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from probes.live.follow.tail import PACKED

SKIPPED = {".git", "__pycache__", "node_modules", ".venv", "wandb", "checkpoints"}
BINARY = (
    *PACKED, ".pt", ".pth", ".bin", ".safetensors", ".npy", ".npz", ".pkl", ".pickle", ".so", ".pyc", ".parquet",
    ".arrow", ".idx", ".sqlite", ".nsys-rep", ".png", ".jpg", ".pdf", ".zip", ".tar", ".tgz", ".distcp", ".lock",
)  # fmt: skip
"""Names of files that hold no lines."""

EVENTS = re.compile(r"(?:^|/)events\.out\.tfevents\.")
DEEPEST = 8
LOG = re.compile(r"\.(?:log|out|err|txt|stdout|stderr)$|(?:^|/)(?:stdout|stderr|log)[^/]*$", re.IGNORECASE)
ACCESS = 0o3
SLURM_SECONDS = 10.0
ENDED = re.compile(r"COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|BOOT_FAIL|DEADLINE")


class Targets(Protocol):
    """Something that names files. `over` is None where nothing tells whether the job has ended."""

    def __call__(self) -> Iterable[str]: ...

    def over(self) -> bool | None: ...


@dataclass(slots=True)
class Files:
    """Paths, patterns with * ? [ ] (** for any depth), and folders with all that is below them."""

    names: Sequence[str]

    def __call__(self) -> Iterator[str]:
        for name in self.names:
            if os.path.isdir(name):
                yield from _below(name, DEEPEST)
            elif glob.has_magic(name) and not os.path.exists(name):
                for path in sorted(glob.iglob(name, recursive=True)):
                    yield from _below(path, DEEPEST) if os.path.isdir(path) else [path]
            else:
                yield name

    def over(self) -> None:
        return None


def _below(folder: str, deeper: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                if deeper and entry.name not in SKIPPED:
                    yield from _below(entry.path, deeper - 1)
            elif entry.is_file() and not entry.name.endswith(BINARY) and not EVENTS.search(entry.path):
                yield entry.path


@dataclass(slots=True)
class Processes:
    """The files that processes and their children write to: standard output and error, and logs they hold open."""

    pids: Sequence[int]
    root: Path = Path("/proc")
    unreadable: dict[int, str] = field(default_factory=dict)
    """Processes whose files could not be looked at, or whose output goes elsewhere, with the reason."""

    def __call__(self) -> Iterator[str]:
        for pid in self._all():
            yield from self._files(pid)

    def over(self) -> bool:
        """Have all named processes ended?"""
        return not any(self._alive(pid) for pid in self.pids)

    def _alive(self, pid: int) -> bool:
        try:
            state = (self.root / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state not in ("Z", "X")

    def _all(self) -> list[int]:
        parents: dict[int, list[int]] = {}
        for name in os.listdir(self.root):
            if name.isdecimal():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    parent = int((self.root / name / "stat").read_text().rpartition(")")[2].split()[1])
                    parents.setdefault(parent, []).append(int(name))
        found = list(self.pids)
        for pid in found:  # grows while it is gone over
            found += [child for child in parents.get(pid, ()) if child not in found]
        return found

    def _files(self, pid: int) -> Iterator[str]:
        folder = self.root / str(pid) / "fd"
        try:
            numbers = sorted((int(name) for name in os.listdir(folder)), key=int)
        except OSError as error:
            if pid in self.pids and self._alive(pid):
                self.unreadable[pid] = error.strerror or str(error)
            return
        for number in numbers:
            with contextlib.suppress(OSError, ValueError):
                path = os.readlink(folder / str(number))
                if number in (1, 2):
                    if path.startswith(("pipe:", "socket:", "/dev/")) and pid in self.pids:
                        self.unreadable.setdefault(pid, path)
                elif not LOG.search(path) or not self._written(pid, number):
                    continue
                if os.path.isfile(path) and not path.endswith(BINARY):
                    yield path

    def _written(self, pid: int, number: int) -> bool:
        text = (self.root / str(pid) / "fdinfo" / str(number)).read_text()
        flags = next((line.split()[1] for line in text.splitlines() if line.startswith("flags:")), "0")
        return int(flags, 8) & ACCESS != os.O_RDONLY


@dataclass(slots=True)
class SlurmJob:
    """The outputs of a job, as `scontrol show job` names them; asked again now and then for whether it has ended.

    OSError or ValueError when the job is not known or the program is not there.
    """

    job: str
    clock: Callable[[], float]
    patterns: list[str] = field(default_factory=list)
    state: str = ""
    _asked_at: float = 0.0

    def __post_init__(self) -> None:
        self._ask()

    def __call__(self) -> Iterator[str]:
        return Files(self.patterns)()

    def over(self) -> bool:
        if self.clock() - self._asked_at >= SLURM_SECONDS:
            with contextlib.suppress(OSError, ValueError):
                self._ask()
        return ENDED.match(self.state) is not None

    def _ask(self) -> None:
        self._asked_at = self.clock()
        done = subprocess.run(
            ["scontrol", "show", "job", "-o", self.job],
            capture_output=True,
            text=True,
            timeout=SLURM_SECONDS,
            check=False,
        )
        if done.returncode or not done.stdout.strip():
            raise ValueError((done.stderr or done.stdout).strip() or "no such job")
        for line in done.stdout.splitlines():
            told = dict(part.partition("=")[::2] for part in line.split(" ") if "=" in part)
            self.state = told.get("JobState", self.state)
            for key in ("StdOut", "StdErr"):
                if (path := told.get(key)) and path not in ("(null)", "/dev/null"):
                    pattern = expanded(path, told)
                    if pattern not in self.patterns:
                        self.patterns.append(pattern)


def expanded(path: str, told: dict[str, str]) -> str:
    """A file name pattern of sbatch (its manual, "filename pattern") as one of the shell: what is not known is `*`."""
    known = {
        "j": told.get("JobId", "*"), "A": told.get("ArrayJobId", told.get("JobId", "*")),
        "a": told.get("ArrayTaskId", "*"), "x": told.get("JobName", "*"), "J": f"{told.get('JobId', '*')}*",
        "u": told.get("UserId", "*").partition("(")[0],
    }  # fmt: skip

    def value(match: re.Match[str]) -> str:
        letter = match[1]
        return "%" if letter == "%" else known.get(letter, "*")

    return re.sub(r"%\d*([A-Za-z%])", value, path)
