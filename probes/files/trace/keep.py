"""Summaries of traces in the user's cache, by what the file is now: its size, its time, its first and last bytes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import msgspec

from probes.files.trace.model import FORMAT, Summary

EDGE = 1 << 16
KEPT = 4096
FOLDER = "traces"


def fingerprint(path: Path, shown: str) -> str:
    """Changes with any change of the file that its size, time, or first or last 64 KiB show."""
    status = path.stat()
    digest = hashlib.sha256(f"{FORMAT} {status.st_size} {status.st_mtime_ns} {Path(shown).name}".encode())
    with path.open("rb") as file:
        digest.update(file.read(EDGE))
        file.seek(max(0, status.st_size - EDGE))
        digest.update(file.read(EDGE))
    return digest.hexdigest()[:32]


def load(cache: Path | None, key: str) -> Summary | None:
    """The summary kept under `key`, if it is there and whole."""
    if cache is None:
        return None
    try:
        return msgspec.msgpack.decode((cache / FOLDER / f"{key}.msgpack").read_bytes(), type=Summary)
    except (OSError, ValueError):
        return None


def save(cache: Path | None, key: str, summary: Summary) -> None:
    """Keeps a summary, whole or not at all, and drops the oldest; a folder that cannot be written is no error."""
    if cache is None:
        return
    folder = cache / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(msgspec.msgpack.encode(summary))
        os.replace(file.name, folder / f"{key}.msgpack")
        kept = sorted(folder.glob("*.msgpack"), key=lambda path: path.stat().st_mtime)
        for old in kept[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return
