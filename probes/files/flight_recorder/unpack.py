"""The document in a dump file: pickle or JSON, packed or not. Nothing that a file says is ever run."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

from probes.files.bounded import bounded

HEAD = 1 << 14
"""Bytes that tell a dump: its first entries or its process groups stand in them."""

MOST_BYTES = 1 << 30
"""A dump of the default 2,000 entries with stacks has some 5 MB."""

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ENTRY, _GROUPS = (b"collective_seq_id", b"pg_status", b"profiling_name"), b"pg_config"
_TRACE = (b"distributedInfo", b"traceEvents", b"schemaVersion")


class DumpError(Exception):
    """A file that cannot be read as a dump; the text says why in one line."""


class _Plain(pickle.Unpickler):
    """Builds plain values only. PyTorch writes dumps without any reference to a class or function."""

    def find_class(self, module: str, name: str, /) -> Any:
        raise DumpError(f"refers to {module[:60]}.{name[:60]}, which no dump does: it was not opened further")

    def persistent_load(self, pid: Any, /) -> Any:
        raise DumpError("refers to an object outside the file, which no dump does: it was not opened further")


class _Whole(io.BytesIO):
    """Data of which the unpickler may see all at once; without that it asks for every few bytes."""

    def peek(self, size: int = -1, /) -> bytes:
        return self.getvalue() if self.tell() == 0 else self.getvalue()[self.tell() :]


def is_dump(path: Path) -> bool:
    """Do the first bytes look like a flight recorder's, as pickle or as JSON?"""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
        head = _unpacked(path, HEAD) if head.startswith((GZIP, ZSTD)) else head
    except (OSError, DumpError, EOFError, ValueError):
        return False
    if head[:1] in (b"\x80", b"}", b"("):
        return any(word in head for word in (*_ENTRY, _GROUPS))
    if head.lstrip()[:1] != b"{":
        return False
    # a profiler's trace has the process groups as well
    return any(word in head for word in _ENTRY) or (_GROUPS in head and not any(word in head for word in _TRACE))


def document(path: Path) -> Any:
    """The value that the file holds; raises DumpError with a reason."""
    try:
        data = _unpacked(path, MOST_BYTES + 1)
    except (OSError, EOFError, ValueError) as error:
        raise DumpError(f"cannot be read: {error}") from None
    if len(data) > MOST_BYTES:
        raise DumpError(f"holds more than {MOST_BYTES:,} bytes")
    if data.lstrip()[:1] == b"{":
        return _json(data)
    try:
        with bounded(len(data)):
            return _Plain(_Whole(data)).load()
    except DumpError:
        raise
    except (MemoryError, RecursionError):
        raise DumpError("is nested or sized beyond any dump") from None
    except Exception as error:  # a damaged pickle raises nearly anything
        raise DumpError(f"is damaged, after {len(data):,} bytes: {str(error)[:120] or type(error).__name__}") from None


def _json(data: bytes) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        try:
            return json.loads(data)  # takes NaN and Infinity
        except (ValueError, RecursionError):
            raise DumpError(f"is damaged JSON: {str(error)[:120]}") from None
    except RecursionError as error:
        raise DumpError(f"is damaged JSON: {str(error)[:120]}") from None


def _unpacked(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(GZIP):
            import gzip
            import zlib

            try:
                with gzip.GzipFile(fileobj=file) as packed:
                    return packed.read(limit)
            except zlib.error as error:
                raise DumpError(f"is damaged gzip: {error}") from None
        if magic.startswith(ZSTD):
            import zstandard

            try:
                with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as packed:
                    return packed.read(limit)
            except zstandard.ZstdError as error:
                raise DumpError(f"is damaged zstd: {error}") from None
        return file.read(limit)
