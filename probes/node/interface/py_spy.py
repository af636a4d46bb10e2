"""py-spy: where it is, how it is asked for the stacks of a process, and why it was refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from probes.files.stacks.model import Stack, StackError
from probes.files.stacks.pyspy import from_json
from probes.node.interface.host import Host
from probes.node.interface.model import why
from probes.node.interface.processes import Rank

NAME = "py-spy"
COMMAND = f"{NAME} dump --pid PID"
INSTALL = "py-spy is not installed: pip install 'pdoctor[stacks]', or pip install py-spy in the job's environment"
SYS_PTRACE = 1 << 19
"""Bit of the capability CAP_SYS_PTRACE (linux/capability.h)."""
SCOPES = {
    "1": "only a parent may look into a process (kernel.yama.ptrace_scope is 1)",
    "2": "only root may look into a process (kernel.yama.ptrace_scope is 2)",
    "3": "nobody may look into a process until the next boot (kernel.yama.ptrace_scope is 3)",
}


class NoStackError(Exception):
    """The stack of a process could not be read; str() says why, `instead` what a person can run (PID stands in it)."""

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead


@dataclass(frozen=True, slots=True)
class PySpy:
    """The program at `path`.

    Without `native` a process is read while it runs on (--nonblocking): it is not stopped for an instant, and what is
    read of a thread that moves meanwhile may not fit together; a thread that stands is read right. Frames of libraries
    are read of a process that is stopped, and py-spy refuses both options together.
    """

    host: Host
    path: str

    def stack(self, rank: Rank, seconds: float, native: bool = False) -> Stack:
        """The threads of a rank; NoStackError when they cannot be read."""
        how = "--native" if native else "--nonblocking"
        try:
            ran = self.host.run([self.path, "dump", "--json", how, "--pid", str(rank.pid)], seconds)
        except TimeoutError as error:
            raise NoStackError(str(error)) from None
        except OSError as error:
            raise NoStackError(f"{self.path}: {why(error)}") from None
        if ran.status:
            raise self._refusal(rank, ran.error)
        try:
            found = from_json(ran.out, f"{NAME} dump --pid {rank.pid}")
        except StackError as error:
            raise NoStackError(f"{NAME} printed something that {error}") from None
        if not found:
            raise NoStackError("has no thread that runs Python")
        return found[0]

    def _refusal(self, rank: Rank, error: str) -> NoStackError:
        lines = [line.strip() for line in error.splitlines() if line.strip()]
        told = next((line.removeprefix("Error: ") for line in lines if line.startswith("Error")), "")
        if "ermission" not in error and "not permitted" not in error:
            return NoStackError(f"{NAME}: {(told or (lines or ['it failed'])[-1])[:160]}")
        if os.geteuid() == 0 and not _may_trace(self.host):
            return NoStackError(
                "this container may not look into processes: start it with --cap-add SYS_PTRACE",
                f"{COMMAND}, on the host and by its number there",
            )
        with suppress(OSError):
            if os.geteuid() and os.stat(self.host.path(rank.proc)).st_uid != os.geteuid():
                return NoStackError("they belong to another user", f"sudo {COMMAND}")
            if scope := SCOPES.get(self.host.text("/proc/sys/kernel/yama/ptrace_scope")):
                return NoStackError(scope, f"sudo {COMMAND}")
        return NoStackError("not permitted", f"sudo {COMMAND}")


def _may_trace(host: Host) -> bool:
    with suppress(OSError, LookupError, ValueError):
        held = next(line for line in host.text("/proc/self/status").splitlines() if line.startswith("CapEff:"))
        return bool(int(held.split()[1], 16) & SYS_PTRACE)
    return True


def find(host: Host, rank: Rank) -> PySpy | None:
    """py-spy on the path, beside pdoctor's interpreter, or beside the job's."""
    for folder in _folders(host, rank):
        path = os.path.join(folder, NAME)
        if os.access(path, os.X_OK) and os.path.isfile(path) and _trusted(path):
            return PySpy(host, path)
    return None


def _folders(host: Host, rank: Rank) -> Iterator[str]:
    yield from filter(os.path.isabs, host.environ.get("PATH", "").split(os.pathsep))
    yield str(Path(sys.executable).parent)
    program = rank.command[0] if rank.command else ""
    if os.path.isabs(program):
        yield str(host.path(os.path.dirname(program)))
    if active := rank.environ.get("VIRTUAL_ENV"):
        yield os.path.join(str(host.path(active)), "bin")


def _trusted(path: str) -> bool:
    """Root runs no program that somebody else can change."""
    return os.geteuid() != 0 or os.stat(path).st_uid == 0
