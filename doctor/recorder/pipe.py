"""A named pipe beside the recording: any byte in it asks for a snapshot of GPU memory."""

from __future__ import annotations

import os
import stat

SUFFIX = ".ask"


def path_of(recording: str) -> str:
    """Where the pipe of a recording lies. Its name is hidden, so that no `*` of a shell opens it."""
    folder, name = os.path.split(recording)
    return os.path.join(folder, f".{name.removesuffix('.jsonl')}{SUFFIX}")


class Pipe:
    """Made anew with rights for its owner alone, so that nobody but that user and root can ask; what is written into
    it is counted as asking and not looked at. Raises OSError where it cannot be made."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._clear()
        os.mkfifo(path, 0o600)
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._made = os.fstat(self._file)
        if not stat.S_ISFIFO(self._made.st_mode) or self._made.st_uid != os.geteuid() or self._made.st_mode & 0o077:
            os.close(self._file)
            raise PermissionError(f"{path} was replaced by another file")

    def asked(self) -> bool:
        """Has anybody written since the last time? One read, which waits for nothing and touches no disk."""
        try:
            return bool(os.read(self._file, 256))
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Takes it away, if the file there is still this one."""
        self.leave()
        try:
            found = os.lstat(self.path)
            if (found.st_dev, found.st_ino) == (self._made.st_dev, self._made.st_ino):
                os.unlink(self.path)
        except OSError:
            pass  # somebody else took it away

    def leave(self) -> None:
        """Lets go of it in a process that was forked, whose parent keeps it."""
        os.close(self._file)

    def _clear(self) -> None:
        """Takes away what a process that was killed left behind, and nothing else."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return
        if stat.S_ISFIFO(found.st_mode) and found.st_uid == os.geteuid():
            os.unlink(self.path)
