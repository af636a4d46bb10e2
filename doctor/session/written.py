"""Files that a person asked for: never over one that is there unless they said so, and never in place of a device."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def candidates(folder: Path, name: str) -> Iterator[Path]:
    """`folder/name`, then name-2, name-3 ... before all of its suffixes."""
    stem, dot, suffixes = name.partition(".")
    for number in itertools.count(1):
        yield folder / (name if number == 1 else f"{stem}-{number}{dot}{suffixes}")


def write_new(folder: Path, name: str, text: str) -> Path:
    """Writes `text` to `folder/name`, or to name-2, name-3 ... where that is taken; raises OSError."""
    for path in candidates(folder, name):
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")


def is_replaceable(path: Path) -> bool:
    """May a new file take the place of `path`? Devices, pipes and links are written into: renaming a file over
    /dev/null or /dev/stdout, as root, would take it from every program of the machine."""
    return not path.is_symlink() and (path.is_file() or not path.exists())


def replace_file(path: Path, content: bytes, lasting: bool = False) -> None:
    """Puts `content` at `path`; OSError where that fails, and then the old file stands as it was.

    A reader sees the old file or the new one, never a part; into what is no file of its own it is written as it is.
    `lasting` has the disk confirm it, so that it outlives a crash of the machine too.
    """
    if not is_replaceable(path):
        path.write_bytes(content)
        return
    beside = path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        with suppress(OSError):
            os.chmod(beside, path.stat().st_mode & 0o777)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
