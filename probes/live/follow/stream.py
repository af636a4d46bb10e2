"""A pipe, a FIFO or standard input: read as it comes, and over when its writers have closed it."""

from __future__ import annotations

import contextlib
import os
import select

from probes.live.follow.model import Piece, Remark, Turn

READ = 1 << 16


class Stream:
    """Bytes from an open descriptor, shown as `path`. A FIFO that nobody has opened for writing yet is not over."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.offset = self.device = self.inode = 0
        self._fd: int | None = fd
        self._fifo = path not in ("-", "stdin")

    @classmethod
    def fifo(cls, path: str) -> Stream:
        """The FIFO at `path`; OSError if it cannot be opened."""
        return cls(path, os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    @property
    def open(self) -> bool:
        return self._fd is not None

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
                ready, _, _ = select.select([self._fd], [], [], 0)
                data = os.read(self._fd, min(READ, room - taken)) if ready else None
            except BlockingIOError:
                break
            except (OSError, ValueError) as error:
                turn.remarks.append(
                    Remark("follow.unreadable", self.path, getattr(error, "strerror", "") or str(error))
                )
                data = b""
            if data is None:
                break
            if not data:
                if self.offset or not self._fifo:
                    self.close()
                    turn.ended.append(self.path)
                break
            turn.pieces.append(Piece(self.path, data))
            self.offset += len(data)
            taken += len(data)
        return taken
