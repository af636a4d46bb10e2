"""The beginning of a file as text, whatever it is packed in; and what to say of one that is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from doctor.session.kinds import is_text
from doctor.session.notes import Note
from probes.files.stream import chunks

SAMPLE = 1 << 16
"""Bytes by which text is told from binary."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: where it lies, how it is shown, its size as stored; `host` is the one it is known to be of."""

    path: str
    name: str
    bytes: int
    host: str = ""


def beginning(file: File, limit: int) -> tuple[bytes, list[Note]]:
    """Up to `limit` bytes of whole lines in UTF-8; no bytes, and a note that says why, when the file is no text."""
    remarks: list[str] = []
    data = b""
    try:
        for piece in chunks(Path(file.path), remarks.append):
            if not data and not is_text(piece[:SAMPLE]):
                return b"", [Note("input.binary", file.name)]
            data += piece
            if len(data) >= limit:
                return data[: data.rfind(b"\n", 0, limit) + 1 or limit], []
    except OSError as error:
        return b"", [Note("input.unreadable", file.name, {"reason": error.strerror or str(error)})]
    if data:
        return data, []
    if remarks:
        return b"", [Note("input.damaged", file.name, {"reason": remarks[0]})]
    return b"", [Note("input.no_text" if _begins_with_nul(file.path) else "input.empty_file", file.name)]


def _begins_with_nul(path: str) -> bool:
    """A node that went down leaves NUL bytes where lines were to come."""
    try:
        with open(path, "rb") as raw:
            return raw.read(1) == b"\0"
    except OSError:
        return False
