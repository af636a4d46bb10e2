"""Where the rest of a log is after it was rotated: under another name, or in a copy of it that was made before it was
cut to nothing."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

CHECKED = 64
"""The last bytes that were read of a file are compared before it is read on: it may be another one by then."""

PACKED = (".gz", ".zst", ".xz", ".bz2", ".zip", ".lz4")

ROTATED = re.compile(r"[.-](?:\d{1,4}|\d{8}(?:[-_T]?\d{2,10})?|\d{4}-\d\d-\d\d\S*)$")
"""What logrotate and Python's handlers put after the name of a file that was full."""

Identity: TypeAlias = tuple[int, int]
"""Device and inode. The number of a file that is deleted is soon that of another one."""


def identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


@dataclass(frozen=True, slots=True)
class Stand:
    """How far a file was read: the `last` bytes before `offset`, and when it was changed then (ns)."""

    key: Identity
    offset: int
    last: bytes
    changed: int = 0

    def is_of(self, fd: int) -> bool:
        """Was the open file read so far, by what it holds?"""
        if not self.offset or not self.last:
            return False
        return os.pread(fd, len(self.last), self.offset - len(self.last)) == self.last


def siblings(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Rotated files of the same name, with what the system says of them; packed ones are left out."""
    folder, base = os.path.split(path)
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.startswith(base) and ROTATED.fullmatch(entry.name, len(base)):
                with contextlib.suppress(OSError):
                    if entry.is_file(follow_symlinks=False):
                        yield entry.path, entry.stat(follow_symlinks=False)


def missed(
    path: str, stand: Stand, done: Mapping[Identity, Stand], known: Collection[Identity], was_cut: bool
) -> list[tuple[str, Stand]]:
    """The rotated files that hold what was written after `stand`, oldest first, each with where to go on in it.

    `known` are files that are open and need no looking for. Of one that `was_cut` a copy may have been made before.
    """
    found = sorted(siblings(path), key=lambda one: (one[1].st_mtime_ns, -(_number(path, one[0]) or 0)))
    own = next((one for one in found if identity(one[1]) == stand.key), None)
    if own is None and was_cut:
        own = next((one for one in reversed(found) if identity(one[1]) not in known and _holds(one[0], stand)), None)
    since = own[1].st_mtime_ns if own else stand.changed
    oldest = _number(path, own[0]) if own else None
    parts = []
    for name, told in found:
        key, number = identity(told), _number(path, name)
        if key in known:
            continue
        if own is not None and name == own[0]:
            start = stand
        elif told.st_mtime_ns >= since or (number is not None and oldest is not None and number < oldest):
            before = done.get(key)
            start = before if before is not None and _holds(name, before, unsure=True) else Stand(key, 0, b"")
        else:
            continue
        if told.st_size > start.offset:
            parts.append((name, start))
    return parts


def _number(path: str, name: str) -> int | None:
    """The generation of a rotated file, where they are counted: 1 is the youngest."""
    suffix = os.path.basename(name)[len(os.path.basename(path)) + 1 :]
    return int(suffix) if suffix.isdecimal() and len(suffix) <= 4 else None


def _holds(name: str, stand: Stand, unsure: bool = False) -> bool:
    """Was the file read so far? `unsure` is the answer where it cannot be looked at."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return stand.is_of(fd)
        finally:
            os.close(fd)
    except OSError:
        return unsure
