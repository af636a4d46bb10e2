"""A temporary folder for what must be read from a file: members of archives, standard input. Bounded in size."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType

ROOM = 4 << 30
"""Bytes that one analysis lays down there."""


class Spool:
    """Files with names of our own in a folder that is made at the first of them, and goes with the `with` block."""

    def __init__(self, room: int | None = None) -> None:
        self.room = ROOM if room is None else room
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = count(1)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def save(self, pieces: Iterable[bytes], limit: int, time: float = 0.0) -> tuple[Path, int, bool]:
        """Writes `pieces`, at most `limit` bytes and as the room lasts: the file, its size, whether it was cut.

        OSError when the disk is full.
        """
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="pdoctor-")
        path = Path(self._folder.name) / f"{next(self._numbers):06}"
        most, size, cut = min(limit, self.room), 0, False
        with path.open("wb") as file:
            for piece in pieces:
                part = piece[: most - size]
                file.write(part)
                size += len(part)
                if cut := len(part) < len(piece):
                    break
        self.room -= size
        if time > 0:
            with suppress(OSError, OverflowError, ValueError):
                os.utime(path, (time, time))
        return path, size, cut
