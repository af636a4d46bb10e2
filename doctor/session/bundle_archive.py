"""The archive that a bundle is: tar packed with zstd or gzip, or zip, by the suffix of its name."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypeAlias, cast

import zstandard

SUFFIXES = (".tar.zst", ".tar.gz", ".tgz", ".zip")
LEVEL = 3
"""Of zstd: on logs as small as gzip at its own 6, at several times the speed."""

Add: TypeAlias = Callable[[str, float, Path], None]


class BundleArchive(AbstractContextManager[Add]):
    """The archive that the suffix of `target` asks for, to which files are added by name and time."""

    def __init__(self, out: Path, target: str) -> None:
        self._stored: IO[bytes] = out.open("wb")
        self._zip = zipfile.ZipFile(self._stored, "w", zipfile.ZIP_DEFLATED) if target.endswith(".zip") else None
        self._packed: IO[bytes] | None = None
        self._tar: tarfile.TarFile | None = None
        if target.endswith(".tar.zst"):
            self._packed = cast(
                IO[bytes], zstandard.ZstdCompressor(level=LEVEL).stream_writer(self._stored, closefd=False)
            )
            self._tar = tarfile.open(fileobj=self._packed, mode="w|", bufsize=1 << 20)  # noqa: SIM115
        elif self._zip is None:
            self._tar = tarfile.TarFile.gzopen(str(out), "w", self._stored, compresslevel=6)

    def __enter__(self) -> Add:
        return self._add

    def __exit__(self, *error: object) -> None:
        for archive in (self._zip, self._tar, self._packed):
            if archive is not None:
                archive.close()
        self._stored.close()

    def _add(self, name: str, time: float, path: Path) -> None:
        size = path.stat().st_size
        with path.open("rb") as source:
            if self._tar is not None:
                info = tarfile.TarInfo(name)
                info.size, info.mtime, info.mode = size, int(max(time, 0)), 0o600
                self._tar.addfile(info, source)
            elif self._zip is not None:
                moment = datetime.fromtimestamp(max(time, 315_532_800), UTC)
                entry = zipfile.ZipInfo(name, moment.timetuple()[:6])
                entry.compress_type = zipfile.ZIP_DEFLATED
                with self._zip.open(entry, "w", force_zip64=True) as member:
                    while piece := source.read(io.DEFAULT_BUFFER_SIZE << 4):
                        member.write(piece)
