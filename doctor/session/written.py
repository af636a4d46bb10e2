"""Files that a person asked for: never over one that is there unless they said so, and never in place of a device."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
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
    """May a new file take the place of `path`? Devices and pipes are written into: renaming a file over /dev/null, as
    root, would take it from every program of the machine."""
    return path.is_file() or not path.exists()
