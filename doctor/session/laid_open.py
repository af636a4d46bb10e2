"""Lays a log that is packed, in UTF-16, or a member of an archive down as a plain file, for its lines to be shown."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from doctor.session.analyze import shown_files
from doctor.session.archives import PACKED, laid_member
from doctor.session.contents import File
from doctor.session.inputs import InputError, collect
from doctor.session.report import Input
from doctor.session.spool import Spool
from doctor.session.tar import DamagedError
from probes.files.stream import chunks

MOST, ROOM = 256 << 20, 1 << 30
"""Bytes of one log, and of all, that are laid down: what comes after is not shown."""
WRAPPED = (*PACKED, b"\xff\xfe", b"\xfe\xff")
"""Beginnings of files that are no plain text: packed ones, and the byte order marks of UTF-16."""


class LaidOpen:
    """Logs that were laid down, each once; they go with this object."""

    def __init__(self) -> None:
        self._spool, self._lock = Spool(ROOM), threading.Lock()
        self._known: dict[str, str] = {}

    def at_hand(self, given: Input) -> str:
        """Where its lines can be read at once; empty where it must be laid down first."""
        if (known := self._known.get(given.path)) is not None or not os.path.isfile(given.place):
            return known or ""
        return "" if _wrapped(Path(given.place)) else given.place

    def lay(self, given: Input, paths: Sequence[str]) -> str:
        """The same, laid down from its file, or from the archive among `paths` that it is a member of; empty where
        that cannot be. May take long."""
        with self._lock:
            if given.path not in self._known:
                self._known[given.path] = ""
                with suppress(OSError, DamagedError, InputError):
                    self._known[given.path] = self._laid(given, paths)
            return self._known[given.path]

    def _laid(self, given: Input, paths: Sequence[str]) -> str:
        there = os.path.isfile(given.place)  # a member of an archive has gone when the report is there
        source = Path(given.place) if there else self._member(given.path, paths)
        if source is None:
            return ""
        return str(self._spool.save(chunks(source, _quiet), MOST)[0] if _wrapped(source) else source)

    def _member(self, name: str, paths: Sequence[str]) -> Path | None:
        files: list[File] = shown_files(collect(paths).files, paths)
        archive = next((file for file in files if name.startswith(f"{file.name}:")), None)
        return laid_member(archive, name, self._spool, MOST) if archive else None


def _wrapped(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(6).startswith(WRAPPED)
    return False


def _quiet(remark: str) -> None:
    """What is remarked here was remarked when the log was read."""
