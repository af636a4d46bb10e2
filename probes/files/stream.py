"""Bytes of a file whatever it is wrapped in: plain, compressed, UTF-16, with holes. Memory stays bounded."""

from __future__ import annotations

import codecs
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

CHUNK = 1 << 20
RATIO = 500
FLOOR = 1 << 30
"""An archive may unpack to RATIO times its size, and to FLOOR bytes in any case; logs rarely exceed a ratio of 50."""

ZEROS = bytes(CHUNK)
Warn: TypeAlias = Callable[[str], None]


def error_file(source: Path | bytes) -> bytes | None:
    """The traceback in an error file of torchrun (torch.distributed.elastic.multiprocessing.errors), if it is one."""
    if isinstance(source, Path):
        if source.stat().st_size > CHUNK:
            return None
        source = source.read_bytes()
    if not source.startswith(b'{"message"') or len(source) > CHUNK:
        return None
    try:
        message = json.loads(source)["message"]
        text = (
            message
            if isinstance(message, str)
            else message.get("extraInfo", {}).get("py_callstack") or message["message"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return str(text).encode("utf-8", "replace")


class _Gzip(io.BufferedIOBase):
    """The members of a gzip file one after another (RFC 1952). What is there is given before a break is told.

    The file objects of gzip and isal fill their buffer first, and lose it when a small file breaks off.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._held = raw, b""
        self._member: Any = None

    def read1(self, size: int = -1, /) -> bytes:
        while data := self._held or self._raw.read(CHUNK):
            if self._member is None:
                # Tapes and block devices fill up the end of a file with zeros.
                data = data.lstrip(b"\0")
                if not data:
                    self._held = b""
                    continue
                self._member = _inflater()
            text: bytes = self._member.decompress(data, size)
            self._held = self._member.unconsumed_tail
            if self._member.eof:
                self._held, self._member = self._member.unused_data, None
            if text:
                return text
        if self._member is None:
            return b""
        # Output may be held back although all input is taken.
        if text := self._member.decompress(b"", size):
            return bytes(text)
        if not self._member.eof:
            raise EOFError("it ends within a member")
        return b""


def _inflater() -> Any:
    """A decompressor of one gzip member: isal's, which is several times as fast, else the standard library's."""
    try:
        from isal import isal_zlib
    except ImportError:
        import zlib

        return zlib.decompressobj(16 + 15)
    return isal_zlib.decompressobj(16 + 15)


def _zstd(raw: IO[bytes]) -> io.BufferedIOBase:
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(raw, read_across_frames=True)
    return cast(io.BufferedIOBase, reader)


def _xz(raw: IO[bytes]) -> io.BufferedIOBase:
    import lzma

    return lzma.LZMAFile(raw)


def _bz2(raw: IO[bytes]) -> io.BufferedIOBase:
    import bz2

    return bz2.BZ2File(raw)


def _whole_zstd(raw: IO[bytes]) -> bool:
    """Whether the last frame ends; the reader of zstandard takes a cut one for the end of the file (RFC 8878, 3.1)."""
    import zstandard

    size = raw.seek(0, os.SEEK_END)
    position = raw.seek(0)
    while position < size:
        head = raw.read(18)
        if head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5:  # a skippable frame
            position = raw.seek(position + 8 + int.from_bytes(head[4:8], "little"))
            continue
        position += zstandard.frame_header_size(head)
        last = False
        while not last:
            raw.seek(position)
            if len(block := raw.read(3)) < 3:
                return False
            header = int.from_bytes(block, "little")
            last = bool(header & 1)
            position += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
        position = raw.seek(position + 4 * zstandard.get_frame_parameters(head).has_checksum)
    return position == size


MAGIC: tuple[tuple[bytes, str, Callable[[IO[bytes]], io.BufferedIOBase]], ...] = (
    (b"\x1f\x8b", "gzip", _Gzip),
    (b"\x28\xb5\x2f\xfd", "zstd", _zstd),
    (b"\xfd7zXZ\x00", "xz", _xz),
    (b"BZh", "bzip2", _bz2),
)


def chunks(source: Path | bytes, warn: Warn, limit: int | None = None) -> Iterator[bytes]:
    """The text of `source` in UTF-8 pieces of about a MiB, unpacked, without byte order mark and NUL bytes.

    A damaged archive gives what could be read and a warning. Unpacking stops after `limit` bytes (by default RATIO
    times the stored size), with a warning. OSError if `source` cannot be opened.
    """
    yield from _without_zeros(_decoded(unpacked(source, warn, limit), warn))


def unpacked(source: Path | bytes, warn: Warn, limit: int | None = None) -> Iterator[bytes]:
    """The bytes of `source` as `chunks` reads them, before they are taken for text."""
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb", buffering=0) as raw:
        size = len(source) if isinstance(source, bytes) else os.fstat(raw.fileno()).st_size
        head = raw.read(6)
        raw.seek(0) if raw.seekable() else None
        for magic, kind, opener in MAGIC:
            if head.startswith(magic):
                yield from _unpacked(raw, kind, opener, warn, limit or max(FLOOR, RATIO * size))
                return
        yield from _plain(raw, head)


def _plain(raw: IO[bytes], head: bytes) -> Iterator[bytes]:
    if not raw.seekable():
        yield head
    try:
        stored = os.fstat(raw.fileno())
        sparse = stored.st_blocks * 512 < stored.st_size
    except (OSError, ValueError):
        sparse = False
    while True:
        if sparse:
            try:
                raw.seek(os.lseek(raw.fileno(), raw.tell(), os.SEEK_DATA))
            except OSError:
                return
        if not (chunk := raw.read(CHUNK)):
            return
        yield chunk


def _unpacked(
    raw: IO[bytes], kind: str, opener: Callable[[IO[bytes]], io.BufferedIOBase], warn: Warn, limit: int
) -> Iterator[bytes]:
    done = 0
    try:
        stream = opener(raw)
        # read1 and not read, which gathers a whole chunk and loses it when it meets the damage.
        while chunk := stream.read1(CHUNK):
            done += len(chunk)
            if done > limit:
                yield chunk[: len(chunk) - (done - limit)]
                warn(f"unpacks to more than {limit:,} bytes: only these were read")
                return
            yield chunk
        if kind == "zstd" and raw.seekable() and not _whole_zstd(raw):
            raise EOFError("it ends within a frame")
    except ImportError:
        warn(f"is packed with {kind}, which needs the Python package zstandard")
    except EOFError as error:
        # A block of bzip2 is sorted as a whole (Burrows-Wheeler), so a part of one gives no text at all.
        why = "it ends within a block, of which nothing can be unpacked" if kind == "bzip2" else str(error)
        warn(f"{kind} archive is damaged after {done:,} bytes of text: {why}")
    except Exception as error:  # every decompressor raises its own kinds; whatever they are, the archive is damaged
        warn(f"{kind} archive is damaged after {done:,} bytes of text: {type(error).__name__}: {error}")


def _decoded(pieces: Iterator[bytes], warn: Warn) -> Iterator[bytes]:
    first = next(pieces, b"")
    while len(first) < 4 and (more := next(pieces, b"")):
        first += more
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if first.startswith(mark):
            decoder = codecs.getincrementaldecoder(name)("replace")
            yield decoder.decode(first[2:]).encode("utf-8", "replace")
            for piece in pieces:
                yield decoder.decode(piece).encode("utf-8", "replace")
            yield decoder.decode(b"", final=True).encode("utf-8", "replace")
            return
    yield first.removeprefix(codecs.BOM_UTF8)
    yield from pieces


def _without_zeros(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if b"\0" in piece:
            # Comparing is ten times as fast as deleting, and a hole in a file is all zeros.
            piece = b"" if piece == ZEROS[: len(piece)] else piece.replace(b"\0", b"")
        if piece:
            yield piece
