"""The members of a tar archive, one after another (POSIX ustar and pax, GNU long names), in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Protocol

BLOCK = 512
PIECE = 1 << 20
LONGEST_HEADER = 1 << 20
"""Bytes of a long name or a pax header; paths have 4,096 at most."""

FILES, WITHOUT_DATA, LONG_NAME, PAX = b"0\x007", b"123456", b"L", b"x"


class DamagedError(Exception):
    """The archive cannot be read on; the message says why."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive. `pieces` are read before the next member is asked for, or not at all."""

    name: str
    size: int
    time: float
    pieces: Iterator[bytes]


class Bytes(Protocol):
    """Where an archive is read from."""

    def take(self, size: int) -> bytes:
        """The next bytes, `size` of them unless the source ends."""
        ...

    def skip(self, size: int) -> None: ...


class Stored:
    """An archive as it lies on disk: what is not wanted costs nothing."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def take(self, size: int) -> bytes:
        return self._file.read(size)

    def skip(self, size: int) -> None:
        self._file.seek(min(size, 1 << 62), os.SEEK_CUR)


class Unpacked:
    """An archive that is unpacked while it is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._held = pieces, memoryview(b"")

    def take(self, size: int) -> bytes:
        return b"".join(self._parts(size))

    def skip(self, size: int) -> None:
        for _ in self._parts(size):
            pass

    def _parts(self, size: int) -> Iterator[memoryview]:
        while size > 0:
            if not self._held:
                self._held = memoryview(next(self._pieces, b""))
                if not self._held:
                    return
            part, self._held = self._held[:size], self._held[size:]
            size -= len(part)
            yield part


def is_tar(head: bytes) -> bool:
    """Is this the first block of a tar archive? Its sum of bytes is stated in it, in octal."""
    return len(head) >= BLOCK and head[0] != 0 and _number(head[148:156]) == _sum(head[:BLOCK])


def members(source: Bytes) -> Iterator[Member]:
    """The regular files of the archive; links, devices and folders are passed over. DamagedError if it ends early."""
    name, stated = "", -1
    while head := source.take(BLOCK):
        if head.count(0) == BLOCK:
            return
        kind, size = head[156:157], _number(head[124:136])
        if not is_tar(head) or size < 0:
            raise DamagedError("it breaks off" if len(head) < BLOCK else "a header of tar is damaged")
        if kind in (LONG_NAME, PAX):
            if size > LONGEST_HEADER:
                raise DamagedError(f"a name or header of {size:,} bytes")
            text = source.take(size + -size % BLOCK)[:size]
            if kind == LONG_NAME:
                name = _text(text.rstrip(b"\0"))
            else:
                keys = _pax(text)
                name = keys.get("GNU.sparse.name") or keys.get("path") or name
                stated = int(digits) if (digits := keys.get("size", "")).isdecimal() and len(digits) < 20 else -1
            continue
        size = stated if stated >= 0 else size
        if kind in FILES:
            rest = [size]
            yield Member(name or _name(head), size, _number(head[136:148]), _pieces(source, rest))
            source.skip(rest[0] + -size % BLOCK)
        elif kind not in WITHOUT_DATA:
            source.skip(size + -size % BLOCK)
        name, stated = "", -1


def _pieces(source: Bytes, rest: list[int]) -> Iterator[bytes]:
    while rest[0] > 0:
        piece = source.take(min(PIECE, rest[0]))
        rest[0] -= len(piece)
        if not piece:
            raise DamagedError("it ends within this file")
        yield piece


def _name(head: bytes) -> str:
    name = _text(head[:100].partition(b"\0")[0])
    # GNU tar uses the place of the prefix for other things, and says so by a blank in place of the NUL.
    prefix = _text(head[345:500].partition(b"\0")[0]) if head[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _pax(data: bytes) -> dict[str, str]:
    """Records `length key=value`, each ending with a line feed."""
    keys, at = {}, 0
    while at < len(data):
        length, _, _ = data[at : at + 20].partition(b" ")
        if not length.isdigit() or int(length) <= len(length):
            break
        key, _, value = data[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
        keys[_text(key)] = _text(value)
        at += int(length)
    return keys


def _number(field: bytes) -> int:
    """Octal digits, or with the top bit set a binary number (GNU); -1 for neither."""
    if field[:1] >= b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip(b" ")
    try:
        return int(digits, 8) if digits else 0
    except ValueError:
        return -1


def _sum(head: bytes) -> int:
    return sum(head) - sum(head[148:156]) + 8 * ord(" ")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
