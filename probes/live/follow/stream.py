"""A pipe, a FIFO or standard input: read as it comes, and over when its writers have closed it."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from collections.abc import Iterator

from probes.live.follow.model import Piece, Remark, Turn

READ = 1 << 16


class Stream:
    """Bytes from an open descriptor, shown as `path`. A FIFO that nobody has opened for writing yet is not over, and
    one that its writers have closed waits for the next ones."""

    def __init__(self, path: str, fd: int, fifo: bool = False) -> None:
        self.path = path
        self.offset = self.device = self.inode = 0
        self._fd: int | None = fd
        self._fifo, self._anew = fifo, False

    @classmethod
    def fifo(cls, path: str) -> Stream:
        """The FIFO at `path`; OSError if it cannot be opened."""
        return cls(path, _opened(path), True)

    @property
    def open(self) -> int:
        """How many descriptors it holds."""
        return int(self._fd is not None)

    @property
    def keys(self) -> Iterator[tuple[int, int]]:
        """Device and inode of the pipe, as long as it is open."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                found = os.fstat(self._fd)
                yield found.st_dev, found.st_ino

    def close(self) -> None:
        if self._fd is not None and self._fifo:
            with contextlib.suppress(OSError):
                os.close(self._fd)
        self._fd = None

    def read(self, turn: Turn, room: int, at: float) -> int:
        """Adds what has come, up to `room` bytes, to `turn`; how much that is."""
        taken = 0
        while self._fd is not None and taken < room:
            try:
                data = os.read(self._fd, min(READ, room - taken)) if _ready(self._fd) else None
            except BlockingIOError:
                break
            except (OSError, ValueError) as error:
                turn.remarks.append(
                    Remark("follow.unreadable", self.path, getattr(error, "strerror", "") or str(error))
                )
                self.close()
                data = b""
            if data is None:
                break
            if not data:
                self._over(turn)
                break
            turn.pieces.append(Piece(self.path, data, self._anew))
            self._anew = False
            self.offset += len(data)
            taken += len(data)
        turn.more = turn.more or taken >= READ  # it may have been full, and its writer waits
        return taken

    def _over(self, turn: Turn) -> None:
        """Its writers have closed it."""
        if self.offset or not self._fifo:
            turn.ended.append(self.path)
            self.offset, self._anew = 0, True
            if not self._fifo:
                self.close()
        if self._fifo and self._fd is not None:
            with contextlib.suppress(OSError):
                found, own = os.stat(self.path), os.fstat(self._fd)
                if stat.S_ISFIFO(found.st_mode) and not os.path.samestat(found, own):  # made anew for another job
                    fd = _opened(self.path)
                    os.close(self._fd)
                    self._fd = fd


def _opened(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _ready(fd: int) -> bool:
    """Is there something to read, or nothing more to come? Not by select, which knows 1,024 descriptors."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))
