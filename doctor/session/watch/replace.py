"""Files that are written while the watch goes on: replaced as a whole, and what is said where that fails."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from doctor.session.notes import Note
from doctor.session.written import is_replaceable

Told = Callable[[Note], object]


def replace_file(path: Path, content: bytes, lasting: bool = False) -> None:
    """Puts `content` at `path`; OSError where that fails, and then the old file stands as it was.

    A reader sees the old file or the new one, never a part. `lasting` has the disk confirm it, so that it outlives a
    crash of the machine too. A link is followed.
    """
    target = Path(os.path.realpath(path))
    if not is_replaceable(target):
        target.write_bytes(content)
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        with suppress(OSError):
            os.chmod(beside, target.stat().st_mode & 0o777)
        os.replace(beside, target)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


class Trouble:
    """Says that a file cannot be written when that begins and when it ends, and nothing between."""

    def __init__(self, path: Path, told: Told) -> None:
        self._path, self._told, self._reason = str(path), told, ""

    def set(self, reason: str) -> None:
        """`reason` is the system's word, empty where writing works."""
        if reason and not self._reason:
            self._told(Note("attach.unwritable", self._path, {"reason": reason}))
        elif self._reason and not reason:
            self._told(Note("attach.writable_again", self._path))
        self._reason = reason
