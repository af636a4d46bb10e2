"""Announcements as lines of a file, each once: the file itself tells what was said last."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

LOOK_BACK = 16 << 20
"""Bytes at the end of a file that is there already which are looked through for what was said."""
HELD = 50
"""Attempts to hold the file, a fiftieth of a second apart."""

BEGINNING = b'{"announced":'
"""How each of our lines begins: so one is known that a kill cut off."""


@dataclass(slots=True)
class Lines:
    """Appends documents to `path`. `reason` is why the last one could not be written, in the system's word."""

    path: Path
    reason: str = ""
    _said: dict[str, str] | None = None
    _file: int = field(default=-1)
    _whole: bool = False

    def write(self, document: str, lasting: bool) -> bool:
        """Adds one line, unless the file ends with the same announcement of the same finding; False where that fails.

        `lasting` has the disk confirm it.
        """
        try:
            self._open()
            with _alone(self._file) as alone:
                self._look_back(alone)
                self._append(document, lasting, alone)
        except OSError as error:
            self.reason = error.strerror or str(error)
            self.close()
            return False
        self.reason = ""
        return True

    def close(self) -> None:
        if self._file >= 0:
            with suppress(OSError):
                os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        """Opens the file, anew where another one has taken its place or it is gone."""
        if self._file >= 0:
            with suppress(OSError):
                here, there = os.fstat(self._file), os.stat(self.path)
                if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
                    return
            self.close()
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._whole = False

    def _look_back(self, alone: bool) -> None:
        """What stands at the end of a file that was just opened: what was said last, and what a kill cut off. That is
        taken away if this one is `alone`: else another one may be writing it just now."""
        if self._whole:
            return
        self._whole = alone
        found = os.fstat(self._file)
        tail = _tail(self._file, found.st_size) if stat.S_ISREG(found.st_mode) else b""
        whole, end, cut = tail.rpartition(b"\n")
        if alone and cut and (cut.startswith(BEGINNING) or BEGINNING.startswith(cut)):
            os.ftruncate(self._file, found.st_size - len(cut))
        elif alone and cut:
            os.write(self._file, b"\n")
        if self._said is None:
            told = (_name(line.decode("utf-8", errors="replace")) for line in (whole + end).split(b"\n"))
            self._said = dict(name for name in told if name is not None)

    def _append(self, document: str, lasting: bool, alone: bool) -> None:
        assert self._said is not None
        slot, name = _name(document) or ("", "")
        # Said before a kill, and kept in no state: it comes once more. Later the same may be said anew.
        if slot and self._said.pop(slot, "") == name:
            return
        data = (document + "\n").encode("utf-8")
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError:
            if written and alone:
                with suppress(OSError):
                    os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise
        if lasting:
            with suppress(OSError):  # the line is there; a file that cannot be synced, such as a pipe, is no failure
                os.fsync(self._file)


@contextmanager
def _alone(file: int) -> Iterator[bool]:
    """Is nobody else known to write to the file? None takes the half line of another for one that was cut off. One that
    holds it for long is not waited for, and of a file that cannot be held nothing is known."""
    held, others = False, True
    for _ in range(HELD):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held, others = True, False
            break
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:
            others = False
            break
    try:
        yield not others
    finally:
        if held:
            fcntl.flock(file, fcntl.LOCK_UN)


def _tail(file: int, size: int) -> bytes:
    at, pieces = max(size - LOOK_BACK, 0), []
    while at < size and (piece := os.pread(file, 1 << 20, at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def _name(line: str) -> tuple[str, str] | None:
    """What an announcement is about and which one it is, None for another line."""
    try:
        told = json.loads(line)["announced"]
        slot, name = f"{told['key']} {told['kind'] == 'storm'}", told["id"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return slot, str(name)
