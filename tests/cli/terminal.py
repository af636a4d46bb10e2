"""`pdoctor` in a terminal of its own: what it shows there is read, and keys are pressed when their time has come."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
MOST = 180.0
"""Seconds after which nothing more is waited for."""

OPENED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"
"""The alternate screen, and back from it."""

When = bytes | Callable[[], bool]


@dataclass(frozen=True)
class Shown:
    """seen: all that came to the terminal; pressed: the keys that were; status: as the process exited."""

    seen: bytes
    pressed: bytes
    status: int

    @property
    def after(self) -> str:
        """What stands in the terminal when the screen is left."""
        return self.seen.partition(LEFT)[2].decode()


def in_terminal(
    *arguments: str,
    folder: Path,
    keys: Iterable[tuple[When, bytes]] = (),
    stdin: bytes | None = None,
    lines: int = 24,
    columns: int = 80,
    **environment: str,
) -> Shown:
    """Runs `pdoctor` with these arguments in `folder`. `keys`: pressed one after the other, each when its text was seen
    since the one before, or its condition holds; `stdin`: what a pipe gives it in the place of the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:  # the process in the terminal
        os.environ.update(TERM="xterm-256color", PYTHONPATH=ROOT, LINES=str(lines), COLUMNS=str(columns))
        os.environ.update(environment)
        os.chdir(folder)
        if stdin is not None:
            pipe, mouth = os.pipe()
            os.write(mouth, stdin)
            os.close(mouth)
            os.dup2(pipe, 0)
        os.execv(sys.executable, [sys.executable, "-m", "doctor", *arguments])
    seen, pressed, since, waiting = b"", b"", 0, list(keys)
    deadline = time.monotonic() + MOST
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            piece = os.read(terminal, 65536) if ready else None
        except OSError:  # the other end is closed
            break
        if piece == b"":
            break
        seen += piece or b""
        if waiting and _has_come(waiting[0][0], seen[since:]):
            key = waiting.pop(0)[1]
            os.write(terminal, key)
            pressed, since = pressed + key, len(seen)
    os.close(terminal)  # who still waits for a key is hung up
    _, status = os.waitpid(pid, 0)
    return Shown(seen, pressed, os.waitstatus_to_exitcode(status))


def _has_come(when: When, seen: bytes) -> bool:
    return when in seen if isinstance(when, bytes) else when()
