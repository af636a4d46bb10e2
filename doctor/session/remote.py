"""Files in object stores and on web servers, laid down here within bounds (extra `remote`: fsspec)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from doctor.session.contents import File
from doctor.session.inputs import MAX_FILES, SKIPPED_FOLDERS, InputError
from doctor.session.notes import Note
from doctor.session.spool import Spool

SCHEMES = frozenset({"s3", "gs", "gcs", "az", "abfs", "hdfs", "http", "https", "memory"})
"""Where files are fetched from. fsspec knows more, among them ways to run commands on other machines."""
WEB = frozenset({"http", "https"})
"""A page is a file: links in it are not followed."""
PIECE = 1 << 20


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Is `path` an address of a known scheme, and no file?"""
    scheme, sign, _ = os.fspath(path).partition("://")
    return bool(sign) and scheme in SCHEMES


def fetched(places: Sequence[str], spool: Spool, notes: list[Note]) -> list[File]:
    """The files at and below `places`, as the room of `spool` lasts; what was left out goes to `notes`.

    Raises InputError where fsspec, or the package for the store, is not installed, or where nothing is at a place.
    """
    found: list[File] = []
    for place in places:
        store, path = _store(place)
        try:
            for name in _names(store, path, place):
                if len(found) == MAX_FILES:
                    notes.append(Note("input.too_many", _plain(place), {"limit": str(MAX_FILES)}))
                    break
                found += _one(store, name, name == path, _shown(place, path, name), spool, notes)
        except FileNotFoundError:
            raise InputError(Note("input.missing", _plain(place))) from None
        except Exception as error:  # each store has errors of its own
            notes.append(_unreadable(place, error))
    return found


def _store(place: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(Note("remote.missing", _plain(place))) from None
    if "::" in place:
        raise InputError(Note("input.unreadable", _plain(place), {"reason": "addresses within addresses are not read"}))
    try:
        store, path = url_to_fs(place)
    except Exception as error:  # a package for this store that is missing, an address that is none
        raise InputError(_unreadable(place, error)) from None
    return store, str(path)


def _names(store: Any, path: str, place: str) -> Iterator[str]:
    if place.partition("://")[0] in WEB or store.isfile(path):
        yield path
        return
    if not store.exists(path):
        raise FileNotFoundError(path)
    # Folder by folder, so that a store without end is not listed to its end.
    folders = [path]
    while folders:
        entries = sorted(store.ls(folders.pop(), detail=True), key=lambda entry: str(entry["name"]))
        for entry in entries:
            name = str(entry["name"])
            if entry["type"] == "file":
                yield name
            elif name.rstrip("/").rpartition("/")[2] not in SKIPPED_FOLDERS:
                folders.append(name)


def _one(store: Any, name: str, only: bool, shown: str, spool: Spool, notes: list[Note]) -> list[File]:
    """One file, whole or as far as the room lasts; a file that cannot be fetched costs itself only. `only`: it was
    named, and FileNotFoundError says that it is not there."""
    try:
        with store.open(name, "rb") as file:
            path, size, cut = spool.save(iter(lambda: file.read(PIECE), b""), spool.room)
    except Exception as error:
        if only and isinstance(error, FileNotFoundError):
            raise
        notes.append(_unreadable(shown, error))
        return []
    if cut:
        notes.append(Note("remote.cut", shown, {"limit": f"{size:,}"}))
    return [File(str(path), shown, size)]


def _shown(place: str, path: str, name: str) -> str:
    """The name within the folder that was given, else the address."""
    inside = name.strip("/").removeprefix(path.strip("/")).lstrip("/")
    return inside if inside and inside != name.strip("/") else _plain(place)


def _plain(place: str) -> str:
    """An address without what may open the file to anyone: a signature after the question mark, a name and password."""
    scheme, sign, rest = place.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return scheme + sign + host.rpartition("@")[2] + slash + path


def _unreadable(place: str, error: Exception) -> Note:
    shown = _plain(place)
    reason = " ".join(str(error).replace(place, shown).split())[:200] or type(error).__name__
    query = place.partition("?")[2]
    return Note("input.unreadable", shown, {"reason": reason.replace(query, "...") if query else reason})
