"""Where reading begins after a restart: with the file that was read then, though it has been rotated since.

What is still on the disk is read again, as `analyze` reads it; what was said of it is known and not said again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256

from doctor.session.watch.model import Mark

PRINT = 256
"""The first bytes of a file, by which it is known again under another name, or in a copy."""
MOST_MARKS = 8
"""Rotated files of one path that are remembered."""
AGAIN, AGAIN_ALL = 16 << 20, 256 << 20
"""B of rotated files that are read again, of one path and of all."""
PACKED = (".gz", ".zst", ".xz", ".bz2", ".zip", ".lz4")


@dataclass(slots=True)
class Marks:
    """The files that were read of each path, oldest first; `before` are those of the state."""

    before: Iterable[Mark] = ()
    _chains: dict[str, list[Mark]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for mark in self.before:
            self._chains.setdefault(mark.path, []).append(mark)

    def see(self, path: str, device: int, inode: int, offset: int) -> None:
        """Reading of `path` stands at `offset` of a file; nothing where none was opened yet."""
        if not inode:
            return
        chain = self._chains.setdefault(path, [])
        last = chain[-1] if chain else None
        same = last is not None and (last.device, last.inode) == (device, inode) and last.offset <= offset
        if last is not None and same and (last.print_bytes == PRINT or (last.print_bytes and last.offset == offset)):
            chain[-1] = replace(last, offset=offset)
            return
        mark = _mark(path, device, inode, offset)
        if mark is None:
            if any((one.device, one.inode) == (device, inode) for one in chain):
                return  # reading has not come to the newest file yet
            mark = Mark(path, device, inode, offset)
        if same:
            chain.pop()  # the same file, with a longer print
        if not (chain and mark.print_bytes and _like(mark, chain[-1])):
            chain.append(mark)
            del chain[:-MOST_MARKS]

    def marks(self) -> tuple[Mark, ...]:
        return tuple(mark for chain in self._chains.values() for mark in chain)


def starts(marks: Iterable[Mark]) -> Iterator[Mark]:
    """Where to begin with each path: the oldest of its files that is still there and not too far back, with the numbers
    that it has now."""
    chains: dict[str, list[Mark]] = {}
    for mark in marks:
        chains.setdefault(mark.path, []).append(mark)
    left = AGAIN_ALL
    for path, chain in chains.items():
        files = dict(_files(path))
        oldest: tuple[Mark, str] | None = None
        room = min(AGAIN, left)
        for mark in reversed(chain):
            found = next((name for name, size in files.items() if size >= mark.print_bytes and _is(mark, name)), None)
            if found is None or (
                found != path and (oldest is not None or mark is not chain[-1]) and files[found] > room
            ):
                break
            oldest = mark, found
            if found != path:
                room -= files[found]
                left -= files[found]
        if oldest is not None:
            mark, name = oldest
            with suppress(OSError):
                now = os.stat(name)
                yield replace(mark, device=now.st_dev, inode=now.st_ino)


def _files(path: str) -> Iterator[tuple[str, int]]:
    """Rotated files of the same name, then the one at the path, with their sizes; packed ones are left out."""
    folder, base = os.path.split(path)
    with suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.startswith((base + ".", base + "-")) and not entry.name.endswith(PACKED):
                with suppress(OSError):
                    if entry.is_file(follow_symlinks=False):
                        yield entry.path, entry.stat().st_size
    with suppress(OSError):
        yield path, os.stat(path).st_size


def _mark(path: str, device: int, inode: int, offset: int) -> Mark | None:
    """A mark with the print of the file at `path`, if that is the one."""
    with suppress(OSError), open(path, "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        if (found.st_dev, found.st_ino) == (device, inode):
            head = file.read(PRINT)
            return Mark(path, device, inode, offset, _print(head), len(head))
    return None


def _is(mark: Mark, name: str) -> bool:
    """Does the file begin as the marked one did? One without a print is known by its number alone."""
    with suppress(OSError), open(name, "rb", buffering=0) as file:
        if not mark.print_bytes:
            found = os.fstat(file.fileno())
            return (found.st_dev, found.st_ino) == (mark.device, mark.inode)
        return _print(file.read(mark.print_bytes)) == mark.fingerprint
    return False


def _like(one: Mark, other: Mark) -> bool:
    return (one.device, one.inode, one.fingerprint) == (other.device, other.inode, other.fingerprint)


def _print(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]
