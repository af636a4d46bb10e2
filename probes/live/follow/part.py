"""An open file that is read on, piece by piece, over the holes in it."""

from __future__ import annotations

import contextlib
import errno
import os

from probes.live.follow.rotated import CHECKED, Identity, Stand, identity

READ = 1 << 18
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Part:
    """An open descriptor, read up to `offset`; `anew` until its first bytes are read, if it begins another file."""

    def __init__(self, fd: int, offset: int = 0, last: bytes = b"", anew: bool = False) -> None:
        self.fd, self.offset, self.last, self.anew = fd, offset, last, anew
        self.key = identity(os.fstat(fd))
        self.changed = 0
        self.grown_at = float("-inf")
        self.failed_at: float | None = None

    @classmethod
    def behind(cls, path: str, stand: Stand) -> Part | None:
        """The rotated file at `path` from `stand` on; None where another file has that name by now. OSError."""
        part = cls(os.open(path, FLAGS | os.O_NOFOLLOW), stand.offset, stand.last, anew=not stand.offset)
        if stand.offset or part.key == stand.key:
            return part  # a copy has another number; what it holds is compared when it is read
        part.close()
        return None

    def rest(self, room: int) -> bytes:
        """The next bytes of a file that nobody writes to any more, empty at the end. OSError."""
        found = self.look()
        if self.is_cut(found):
            return b""
        data = self.read(found, room)
        self.changed = found.st_mtime_ns
        return data

    def look(self) -> os.stat_result:
        return os.fstat(self.fd)

    def stand(self, key: Identity) -> Stand:
        return Stand(key, self.offset, self.last, self.changed)

    def cut(self) -> None:
        """It was cut to nothing, or another one has taken its place: its beginning is read."""
        self.offset, self.last, self.anew = 0, b"", True

    def is_cut(self, found: os.stat_result) -> bool:
        """Does the file no longer hold what was read of it? Only looked at where it was changed."""
        if found.st_size < self.offset:
            return True
        if found.st_mtime_ns == self.changed and found.st_size == self.offset:
            return False
        return bool(self.last) and os.pread(self.fd, len(self.last), self.offset - len(self.last)) != self.last

    def read(self, found: os.stat_result, room: int) -> bytes:
        """The next bytes, empty at the end; a hole is passed over, up to what begins a block."""
        start = self._data_from(found)
        if start > self.offset:
            self.offset, self.last = start, bytes(CHECKED)
        data = os.pread(self.fd, min(READ, room), start) if start < found.st_size else b""
        self.offset += len(data)
        self.last = (self.last + data[-CHECKED:])[-CHECKED:]
        return data

    def read_lines(self, found: os.stat_result, room: int) -> bytes:
        """The next whole lines; what follows them is left for later, unless it is longer than any line."""
        offset, last = self.offset, self.last
        data = self.read(found, room)
        end = data.rfind(b"\n") + 1
        if end < len(data) and (end or len(data) < READ):
            begin = self.offset - len(data)
            data, self.offset = data[:end], begin + end
            self.last = ((last if begin == offset else bytes(CHECKED)) + data)[-CHECKED:]
        return data

    def recall(self) -> None:
        """The last bytes before `offset`, where only that is known."""
        if self.offset and not self.last:
            self.last = os.pread(self.fd, min(CHECKED, self.offset), max(0, self.offset - CHECKED))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.fd)

    def _data_from(self, found: os.stat_result) -> int:
        """Where there is something to read: a file that was cut while its writer went on begins with a hole."""
        if found.st_blocks * 512 >= found.st_size:
            return self.offset
        try:
            return os.lseek(self.fd, self.offset, os.SEEK_DATA)
        except OSError as error:
            return found.st_size if error.errno == errno.ENXIO else self.offset
