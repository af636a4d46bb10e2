"""The members of a zip archive, with the length of its list checked before it is read into memory."""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from doctor.session.tar import DamagedError, Member

MAGIC = b"PK\x03\x04"
LONGEST_LIST = 16 << 20
"""Bytes of the list of files (central directory): enough for 100,000 files with usual names."""

PIECE = 1 << 20
END, LOCATOR, END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"

NO_LOGS = re.compile(r"(?:^|/)data\.pkl$|^\[Content_Types\]\.xml$|^META-INF/MANIFEST\.MF$|\.dist-info/RECORD$")
"""A checkpoint of PyTorch, an office document, a Java or Python package: zip archives, but of no interest."""


def zip_members(path: Path) -> Iterator[Member]:
    """The regular files of the archive; folders and links are passed over. DamagedError if it cannot be read."""
    if _list_size(path) > LONGEST_LIST:
        raise DamagedError("its list of files is too long")
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:  # a damaged list of files raises whatever its reading meets
        raise DamagedError(str(error)) from None
    with archive:
        if any(NO_LOGS.search(name) for name in archive.namelist()):
            return
        for info in archive.infolist():
            if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16):
                yield Member(info.filename, info.file_size, _time(info), _pieces(archive, info))


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    if info.flag_bits & 1:
        raise DamagedError("it is encrypted")
    try:
        with archive.open(info) as file:
            while piece := file.read(PIECE):
                yield piece
    except Exception as error:  # every way of packing has its own errors; this file is damaged, others may not be
        raise DamagedError(str(error) or type(error).__name__) from None


def _time(info: zipfile.ZipInfo) -> float:
    with suppress(ValueError, OverflowError):
        return datetime(*info.date_time, tzinfo=UTC).timestamp()
    return 0.0


def _list_size(path: Path) -> int:
    """Length of the list of files as the end of the archive states it (APPNOTE 4.3.14 and 4.3.16)."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = file.seek(max(0, size - (1 << 16) - 42))
        tail = file.read()
        at = tail.rfind(END)
        if at < 0:
            return 0
        if at >= 20 and tail[at - 20 : at - 16] == LOCATOR:
            file.seek(min(int.from_bytes(tail[at - 12 : at - 4], "little"), max(start, size)))
            record = file.read(56)
            if record[:4] == END64:
                return int.from_bytes(record[40:48], "little")
        return int.from_bytes(tail[at + 12 : at + 16], "little")
