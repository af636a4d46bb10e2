"""One watch at a time for each state: two would write over what the other one knows."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from doctor.session.inputs import InputError
from doctor.session.notes import Note

LOCK_NAME = ".{name:.40}.lock"
ATTEMPTS = 10


@contextmanager
def alone(state: Path | None) -> Iterator[None]:
    """Holds the state; InputError where another watch does. A folder that nothing can be written to holds no state, and
    a file system without locks cannot tell."""
    if state is None:
        yield
        return
    path = Path(os.path.realpath(state))
    lock = path.with_name(LOCK_NAME.format(name=path.name))
    fd = _held(lock, state)
    try:
        if fd is not None:
            _clear(path)
        yield
    finally:
        if fd is not None:
            with suppress(OSError):
                lock.unlink()
            os.close(fd)


def _held(lock: Path, state: Path) -> int | None:
    for _ in range(ATTEMPTS):
        try:
            fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), lock.lstat()):
                return fd
        except BlockingIOError:
            os.close(fd)
            raise InputError(Note("attach.state_held", str(state))) from None
        except FileNotFoundError:
            pass  # the one before has just ended
        except OSError:
            os.close(fd)
            return None
        os.close(fd)
    return None


def _clear(path: Path) -> None:
    """Takes away what a kill in the middle of writing has left beside the state."""
    left = re.compile(re.escape(f".{path.name[:40]}.") + r"[0-9a-f]{12}")
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if left.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    os.unlink(entry.path)
