"""Runs a program for each announcement, which it reads on standard input; without a shell."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

TIMEOUT = 30.0
MOST_OUTPUT = 2000
"""Characters of the end of what it prints that are kept."""

LINGER, LOOK, BREATH = 60.0, 0.2, 0.1
"""Seconds for which what it leaves running may still print, between two looks at that, and after each piece of it."""


class CommandError(ValueError):
    """A command line that names no program; str() says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its exit status, minus the signal's number where one ended it, None where it never ran or
    had to be stopped; `reason` says why then; `output` is the end of what it printed."""

    status: int | None
    seconds: float
    reason: str = ""
    output: str = ""

    @property
    def words(self) -> str:
        if self.status is None:
            return self.reason
        if self.status < 0:
            with suppress(ValueError):
                return f"ended by {signal.Signals(-self.status).name}"
            return f"ended by signal {-self.status}"
        return f"exit status {self.status}"


def read_command(text: str) -> tuple[str, ...]:
    """The words of a command line as a POSIX shell would part them; CommandError. Nothing else of a shell is there:
    no variables, no pipes."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise CommandError(f"{str(error)[:1].lower()}{str(error)[1:]}") from None
    if not words:
        raise CommandError("names no program")
    if any("\0" in word for word in words):
        raise CommandError("holds a NUL character")
    return words


def run_command(
    words: Sequence[str], text: str, stopping: threading.Event | None = None, timeout: float = TIMEOUT
) -> Ended:
    """Runs the program with `text` on standard input; never raises.

    One that is not done in time is killed with its children; `stopping` ends the waiting.
    """
    begun = time.monotonic()
    try:
        given = os.memfd_create("announcement", os.MFD_CLOEXEC)
        try:
            with open(given, "wb", closefd=False) as file:
                file.write(text.encode("utf-8"))
            os.lseek(given, 0, os.SEEK_SET)
            process = subprocess.Popen(
                words, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
            )
        finally:
            os.close(given)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Ended(None, time.monotonic() - begun, f"did not start: {reason}")
    output = _Tail(process)
    reason = ""
    while process.poll() is None:
        if time.monotonic() - begun > timeout:
            reason = f"stopped: not done after {timeout:g} s"
        elif stopping is not None and stopping.is_set():
            reason = "stopped: pdoctor ends"
        if reason:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            break
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    status = None if reason else process.returncode
    return Ended(status, time.monotonic() - begun, reason, output.text(0.0 if reason else LINGER))


class _Tail:
    """Takes what a program prints, so that it never waits for a reader, and keeps the end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._end = process, b""
        self._until: float | None = None
        self._thread = threading.Thread(target=self._read, name="output of a command", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe, suppress(OSError, ValueError):
            poll = select.poll()
            poll.register(pipe, select.POLLIN)
            while self._until is None or time.monotonic() < self._until:
                if not poll.poll(LOOK * 1000):
                    continue
                piece = os.read(pipe.fileno(), 1 << 16)
                if not piece:
                    return
                self._end = (self._end + piece)[-MOST_OUTPUT:]
                if self._until is not None:
                    time.sleep(BREATH)

    def text(self, linger: float) -> str:
        """What it printed. A child that runs on with the pipe in its hands is not waited for, but may print for
        `linger` seconds more, without haste."""
        self._thread.join(LOOK)
        self._until = time.monotonic() + linger
        return self._end.decode("utf-8", errors="replace").strip()
