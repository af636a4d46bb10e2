"""What is said where a file cannot be written while the watch goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from doctor.session.notes import Note

Told = Callable[[Note], object]


class Trouble:
    """Says that a file cannot be written when that begins and when it ends, and nothing between."""

    def __init__(self, path: Path, told: Told) -> None:
        self._path, self._told, self._reason = str(path), told, ""

    def set(self, reason: str) -> None:
        """`reason` is the system's word, empty where writing works."""
        if reason and not self._reason:
            self._told(Note("attach.unwritable", self._path, {"reason": reason}))
        elif self._reason and not reason:
            self._told(Note("attach.writable_again", self._path))
        self._reason = reason
