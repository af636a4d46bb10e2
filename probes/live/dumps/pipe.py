"""Asks a process by a byte in a named pipe that it reads."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from probes.node.interface.model import why


def poke(path: Path, what: str, follow: bool = False, owner: int | None = None) -> None:
    """Writes a byte into the pipe and never waits; LookupError says why not, of a pipe that is called `what`.

    FileNotFoundError where there is none. Links are only followed with `follow`; with `owner` it must be that user's.
    """
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise LookupError(f"nobody reads {what}") from None
        raise LookupError(f"{what}: {why(error)}") from None
    try:
        found = os.fstat(pipe)
        if not stat.S_ISFIFO(found.st_mode) or owner not in (None, found.st_uid):
            raise LookupError(f"there is another file in place of {what}")
        os.write(pipe, b"1")
    except BlockingIOError:
        raise LookupError(f"{what} is full: nobody reads it") from None
    except OSError as error:
        raise LookupError(f"{what}: {why(error)}") from None
    finally:
        os.close(pipe)
