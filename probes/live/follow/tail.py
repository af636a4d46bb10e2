"""One file that is written to: read on, through rotation, truncation and loss."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Iterator

from probes.live.follow.model import Piece, Remark, Turn

READ = 1 << 18
CHECKED = 64
"""The last bytes that were read are compared before more is: a file may be cut and written anew between two looks."""

WHOLE, HEAD, LAST = 64 << 20, 1 << 20, 16 << 20
"""A file that is longer than WHOLE when it is first seen is read in its first HEAD and its LAST bytes."""

GONE = 5.0
"""Seconds after which a file that was taken away is said to be gone; a rotation takes less."""

RETRY = 2.0
REMEMBERED = 16
PACKED = (".gz", ".zst", ".xz", ".bz2", ".zip", ".lz4")
QUIET = (FileNotFoundError, NotADirectoryError)


class Tail:
    """The file at `path`. `offset`, `device` and `inode` say where reading stands; `at` is given in seconds."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.offset, self.device, self.inode = 0, 0, 0
        self._fd: int | None = None
        self._last = b""
        self._anew = self._known = False
        self._needed: int | None = None
        self._begun = False
        self._said = ""
        self._missing_since: float | None = None
        self._next_try = 0.0
        self._skip: tuple[int, int] | None = None
        self._done: deque[tuple[int, int]] = deque(maxlen=REMEMBERED)

    @property
    def open(self) -> bool:
        return self._fd is not None

    def go_on(self, device: int, inode: int, offset: int) -> None:
        """The file was read up to `offset` before, and may lie under another name by now: it is read once more, since
        what it says belongs to what comes, and all that comes after `offset` is read in any case."""
        self.device, self.inode, self._known, self._needed = device, inode, True, offset

    def close(self) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
        self._fd = None

    def read(self, turn: Turn, room: int, at: float) -> int:
        """Adds what is new, up to `room` bytes, to `turn`; how much that is."""
        if self._fd is None and (at < self._next_try or not self._open(turn, at)):
            return 0
        try:
            taken = self._read(turn, room)
            if taken < room:
                self._look(turn, at)
        except OSError as error:
            self._lost(turn, error, at)
            return 0
        return taken

    def _open(self, turn: Turn, at: float) -> bool:
        self._next_try = at + RETRY * bool(self._said)
        try:
            fd = os.open(self._where(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            self._lost(turn, error, at)
            return False
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            self._lost(turn, OSError(0, "not a regular file"), at)
            return False
        self._fd = fd
        same = (found.st_dev, found.st_ino) == (self.device, self.inode)
        if not same or found.st_size < self.offset:
            self._anew = self._begun
            self.offset, self._last = 0, b""
        if not self._begun and found.st_size > WHOLE:
            end = min(found.st_size - LAST, self._needed if same and self._needed is not None else found.st_size)
            self._skip = (HEAD, end) if end > HEAD else None
        if not self._last and self.offset:
            self._last = os.pread(fd, min(CHECKED, self.offset), max(0, self.offset - CHECKED))
        self.device, self.inode = found.st_dev, found.st_ino
        self._begun, self._missing_since, self._said = True, None, ""
        return True

    def _where(self) -> str:
        """The path, or that of the file which was being read when it was renamed while nobody followed."""
        if not self._known or self._begun:
            return self.path
        with contextlib.suppress(OSError):
            found = os.stat(self.path)
            if (found.st_dev, found.st_ino) == (self.device, self.inode):
                return self.path
        return next((path for path, found in self._siblings() if found.st_ino == self.inode), self.path)

    def _read(self, turn: Turn, room: int) -> int:
        assert self._fd is not None
        found = os.fstat(self._fd)
        if found.st_size < self.offset or (found.st_size > self.offset and not self._continues()):
            self.offset, self._last, self._anew = 0, b"", True
        taken = 0
        while taken < room and self.offset < found.st_size:
            if self._skip and self.offset >= self._skip[0]:
                turn.remarks.append(Remark("follow.skipped", self.path, f"{self._skip[1] - self.offset:,}"))
                self.offset, self._skip, self._last, self._anew = self._skip[1], None, b"", True
            start = self._data_from(found)
            data = os.pread(self._fd, min(READ, room - taken), start)
            if not data:
                break
            self.offset = start + len(data)
            self._last = (
                (self._last + data[-CHECKED:])[-CHECKED:] if start == self.offset - len(data) else data[-CHECKED:]
            )
            turn.pieces.append(Piece(self.path, data, self._anew))
            self._anew = False
            taken += len(data)
        return taken

    def _data_from(self, found: os.stat_result) -> int:
        """Where there is something to read: a file that was cut while its writer went on begins with a hole."""
        assert self._fd is not None
        if found.st_blocks * 512 >= found.st_size:
            return self.offset
        try:
            return os.lseek(self._fd, self.offset, os.SEEK_DATA)
        except OSError:
            return self.offset

    def _continues(self) -> bool:
        assert self._fd is not None
        return not self._last or os.pread(self._fd, len(self._last), self.offset - len(self._last)) == self._last

    def _look(self, turn: Turn, at: float) -> None:
        """Is the file at the path still the one that is open? If it was replaced, go over to the new one."""
        assert self._fd is not None
        try:
            now = os.stat(self.path)
        except QUIET:
            self._missing(turn, at)
            return
        if (now.st_dev, now.st_ino) == (self.device, self.inode):
            self._missing_since = None
            return
        own = os.fstat(self._fd)
        if now.st_size == 0 and at - own.st_mtime < GONE:
            return  # its writer may go on with the old one until it opens the new one
        if own.st_size > self.offset:
            turn.more = True  # written since it was read: the new one comes after it
            return
        self._between(turn, own, now)
        self._done.append((own.st_dev, own.st_ino))
        self.close()
        self.offset, self._last, self._anew = 0, b"", True
        self._open(turn, at)
        turn.more = True

    def _between(self, turn: Turn, own: os.stat_result, now: os.stat_result) -> None:
        """Files that came and went while nobody looked: rotated ones that are younger than what was read."""
        read = {(own.st_dev, own.st_ino), (now.st_dev, now.st_ino), *self._done}
        missed = [
            (found.st_mtime_ns, path, (found.st_dev, found.st_ino))
            for path, found in self._siblings()
            if found.st_mtime_ns >= own.st_mtime_ns and (found.st_dev, found.st_ino) not in read
        ]
        for _, path, key in sorted(missed):
            try:
                with open(path, "rb") as file:
                    anew = True
                    while data := file.read(READ):
                        turn.pieces.append(Piece(self.path, data, anew))
                        anew = False
            except OSError as error:
                turn.remarks.append(Remark("follow.unreadable", path, error.strerror or str(error)))
            self._done.append(key)

    def _siblings(self) -> Iterator[tuple[str, os.stat_result]]:
        """Rotated files of the same name, with what the system says of them."""
        folder, base = os.path.split(self.path)
        with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in entries:
                named = entry.name.startswith((base + ".", base + "-")) and not entry.name.endswith(PACKED)
                if named and entry.is_file(follow_symlinks=False):
                    yield entry.path, entry.stat(follow_symlinks=False)

    def _missing(self, turn: Turn, at: float) -> None:
        if self._missing_since is None:
            self._missing_since = at
        elif at - self._missing_since >= GONE and self._said != "follow.gone":
            self._said = "follow.gone"
            turn.remarks.append(Remark(self._said, self.path))

    def _lost(self, turn: Turn, error: OSError, at: float) -> None:
        self.close()
        self._next_try = at + (RETRY if self._begun or not isinstance(error, QUIET) else 0.0)
        if isinstance(error, QUIET):
            if self._begun:
                self._missing(turn, at)
            return
        if self._said != "follow.unreadable":
            self._said = "follow.unreadable"
            turn.remarks.append(Remark(self._said, self.path, error.strerror or type(error).__name__))
