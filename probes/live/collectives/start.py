"""Starts the ranks of a test with the job's interpreter, and leaves none behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

WORKER = Path(__file__).with_name("worker.py")
SAID = 4096


class BenchError(Exception):
    """The test cannot be made: one line that says why and what would be right."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which of the ranks this process is, as its launcher says."""

    rank: int
    world: int
    local: int
    address: str
    port: int


LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),  # mpirun of Open MPI
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),  # mpirun of MPICH and Intel MPI
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),  # srun
)
SLURM_PORTS = 20000, 10000
"""First port and number of ports that a Slurm job id is mapped to, where MASTER_PORT is not set."""


def place_of(environment: Mapping[str, str]) -> Place | None:
    """What torchrun, mpirun or srun says of this process; None where it runs by itself, or alone.

    Raises BenchError where ranks are numbered but nobody says where they meet.
    """
    for names in LAUNCHERS:
        rank, world, local = (environment.get(name, "") for name in names)
        if not (rank.isdecimal() and world.isdecimal() and int(world) > 1):
            continue
        address, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
        if names[0].startswith("SLURM"):
            address = address or environment.get("SLURM_LAUNCH_NODE_IPADDR", "")
            first, ports = SLURM_PORTS
            port = port or str(first + int(environment.get("SLURM_JOB_ID", "0") or 0) % ports)
        if not address or not port.isdecimal():
            raise BenchError(
                f"{names[0]}={rank} of {names[1]}={world}, but MASTER_ADDR and MASTER_PORT do not say where the ranks"
                " meet; set them to the host of rank 0 and a free port there"
            )
        return Place(int(rank), int(world), int(local) if local.isdecimal() else 0, address, int(port))
    return None


@dataclass(slots=True)
class Started:
    """The worker of this machine and the socket it reports to (None where the ranks report to another process)."""

    process: subprocess.Popen[bytes]
    listener: socket.socket | None
    said: IO[bytes]

    def ended(self) -> str:
        """Why the worker has ended, in its own last words; nothing while it runs."""
        if self.process.poll() is None:
            return ""
        return self.words() or f"the worker ended with status {self.process.returncode}"

    def words(self) -> str:
        """The last line on its standard error."""
        with suppress(OSError, ValueError):
            size = self.said.seek(0, os.SEEK_END)
            self.said.seek(max(0, size - SAID))
            lines = self.said.read(SAID).decode("utf-8", "replace").strip().splitlines()
            return lines[-1].strip()[:300] if lines else ""
        return ""


@contextmanager
def started(
    python: str, settings: Mapping[str, object], token: str, place: Place | None, worker: Path = WORKER
) -> Iterator[Started]:
    """The worker with all ranks it starts, in a process group of its own that is killed at the end, whatever happens.

    Raises BenchError where the interpreter does not start.
    """
    folder = tempfile.mkdtemp(prefix="pdoctor-")
    listener, report = (None, "") if place and place.rank else _listen(folder, place)
    given = {**settings, "token": token, "report": report, "store": f"{folder}/store"}
    given["host"] = socket.gethostname()
    # A dump of a test that hangs would lie where those of the job are looked for.
    environment = {**os.environ, "TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}
    if place is not None:
        given |= {"rank": place.rank, "world": place.world, "local": place.local}
        environment |= {"MASTER_ADDR": place.address, "MASTER_PORT": str(place.port)}
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                [python, str(worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise BenchError(f"{python!r} does not start ({error.strerror}); right would be --python PATH") from None
        try:
            assert process.stdin is not None
            with suppress(OSError), process.stdin as pipe:
                pipe.write(json.dumps(given).encode() + b"\n")
            yield Started(process, listener, said)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if listener is not None:
                listener.close()
            shutil.rmtree(folder, ignore_errors=True)


def _listen(folder: str, place: Place | None) -> tuple[socket.socket, str]:
    """A socket for the reports: in the file system for ranks of this machine, else on any free port."""
    if place is None:
        path = f"{folder}/report"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(1024)
        return listener, f"unix:{path}"
    listener = socket.create_server(("", 0), backlog=1024)
    return listener, f"tcp:127.0.0.1:{listener.getsockname()[1]}"
