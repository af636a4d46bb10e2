"""What is named to be followed, as files: paths, patterns, folders, files of processes, outputs of a Slurm job."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import stat
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from probes.live.follow.rotated import PACKED

OWN = re.compile(r"^\.(?:nfs[0-9a-f]+|.+\.[0-9a-f]{12})$")
"""Files that are about to be renamed over another one, by pdoctor, or that NFS keeps since they are open."""

SKIPPED = {".git", "__pycache__", "node_modules", ".venv", "wandb", "checkpoints"}
BINARY = (
    *PACKED, ".pt", ".pth", ".bin", ".safetensors", ".npy", ".npz", ".pkl", ".pickle", ".so", ".pyc", ".parquet",
    ".arrow", ".idx", ".sqlite", ".nsys-rep", ".png", ".jpg", ".pdf", ".zip", ".tar", ".tgz", ".distcp", ".lock",
)  # fmt: skip
"""Names of files that hold no lines."""

EVENTS = re.compile(r"(?:^|/)events\.out\.tfevents\.")
DEEP = re.compile(r"(?:^|/)\*\*(?:/|$)")
DEEPEST = 8
LOG = re.compile(r"\.(?:log|out|err|txt|stdout|stderr)$|(?:^|/)(?:stdout|stderr|log)[^/]*$", re.IGNORECASE)
ACCESS = 0o3
SLURM_SECONDS = 10.0
FORGOTTEN = "Invalid job id"
ENDED = re.compile(r"COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|BOOT_FAIL|DEADLINE")


class Targets(Protocol):
    """Something that names files, and gives an empty name now and then while it passes over what is none. `over` is
    None where nothing tells whether the job has ended."""

    def __call__(self) -> Iterable[str]: ...

    def over(self) -> bool | None: ...


@dataclass(slots=True)
class Files:
    """Paths, patterns with * ? [ ] (** for any depth), and folders with all that is below them; an empty name for each
    folder and each file that is passed over, since a tree may hold millions of them and no log."""

    names: Sequence[str]

    def __call__(self) -> Iterator[str]:
        for name in self.names:
            if os.path.isdir(name):
                yield from _below(name, DEEPEST)
            elif glob.has_magic(name) and not os.path.exists(name):
                for path in _matching(name):
                    yield from _below(path, DEEPEST) if os.path.isdir(path) else [path]
            else:
                yield name

    def over(self) -> None:
        return None


def _matching(pattern: str) -> Iterator[str]:
    """What a pattern names. For ** links to folders are not followed, as they may lead in circles."""
    found = DEEP.search(pattern)
    if found is None:
        yield from sorted(glob.iglob(pattern))
        return
    before, after = pattern[: found.start()] + ("/" if found[0][0] == "/" else ""), pattern[found.end() :]
    for start in sorted(glob.iglob(before)) if before else [""]:
        for folder in _folders(start, DEEPEST):
            yield ""
            yield from _matching(os.path.join(glob.escape(folder), after)) if after else _below(folder, 0)


def _folders(folder: str, deeper: int) -> Iterator[str]:
    yield folder
    with contextlib.suppress(OSError), os.scandir(folder or ".") as found:
        below = sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
        for name in below if deeper else ():
            if name not in SKIPPED:
                yield from _folders(os.path.join(folder, name), deeper - 1)


def _below(folder: str, deeper: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    yield ""
    for entry in entries:
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                if deeper and entry.name not in SKIPPED:
                    yield from _below(entry.path, deeper - 1)
            else:
                yield entry.path if entry.is_file() and _holds_lines(entry) else ""


def _holds_lines(entry: os.DirEntry[str]) -> bool:
    return not entry.name.endswith(BINARY) and not EVENTS.search(entry.path) and not OWN.match(entry.name)


@dataclass(slots=True)
class Processes:
    """The files that processes and their children write to: standard output and error, and logs they hold open. Of
    those that have ended, what they wrote to when they were last looked at: they may end before anybody reads it."""

    pids: Sequence[int]
    root: Path = Path("/proc")
    unreadable: dict[int, str] = field(default_factory=dict)
    """Processes whose files could not be looked at, or whose output goes elsewhere, with the reason."""

    _last: list[str] = field(default_factory=list)

    def __call__(self) -> Iterator[str]:
        self._last = [path for pid in self._all() for path in self._files(pid)] or self._last
        yield from self._last

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
                if (found := self._here(path, pid, number)) and not path.endswith(BINARY):
                    yield found

    def _here(self, path: str, pid: int, number: int) -> str | None:
        """The file as it is called here: a process in a container has other folders under the same names."""
        own = os.stat(self.root / str(pid) / "fd" / str(number))
        if not stat.S_ISREG(own.st_mode):
            return None
        for name in (path, f"{self.root}/{pid}/root{path}"):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(name), own):
                    return name
        return None

    def _written(self, pid: int, number: int) -> bool:
        text = (self.root / str(pid) / "fdinfo" / str(number)).read_text()
        flags = next((line.split()[1] for line in text.splitlines() if line.startswith("flags:")), "0")
        return int(flags, 8) & ACCESS != os.O_RDONLY


@dataclass(slots=True)
class SlurmJob:
    """The outputs of a job, as `scontrol show job` names them; asked again now and then for whether it has ended, in a
    thread of its own, since a controller that is busy lets everybody wait.

    OSError, ValueError or SubprocessError when the job is not known or the program is not there.
    """

    job: str
    clock: Callable[[], float]
    patterns: list[str] = field(default_factory=list)
    state: str = ""
    _asked_at: float = 0.0
    _asking: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._ask()

    def __call__(self) -> Iterator[str]:
        return Files(list(self.patterns))()

    def over(self) -> bool:
        if self.clock() - self._asked_at >= SLURM_SECONDS and (self._asking is None or not self._asking.is_alive()):
            self._asked_at = self.clock()
            self._asking = threading.Thread(target=self._ask_again, name="scontrol", daemon=True)
            self._asking.start()
        return ENDED.match(self.state) is not None

    def wait(self) -> None:
        """Until the answer to the last question is there."""
        if self._asking is not None:
            self._asking.join()

    def _ask_again(self) -> None:
        try:
            self._ask()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            if FORGOTTEN in str(error):
                self.state = "COMPLETED"  # or not: Slurm keeps a job for a while after its end (MinJobAge)

    def _ask(self) -> None:
        self._asked_at = self.clock()
        done = subprocess.run(
            ["scontrol", "show", "job", "-o", self.job],
            stdin=subprocess.DEVNULL,
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
