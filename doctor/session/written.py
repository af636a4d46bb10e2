"""Files that a person asked for: never over one that is there."""

from __future__ import annotations

import itertools
from pathlib import Path


def write_new(folder: Path, name: str, text: str) -> Path:
    """Writes `text` to `folder/name`, or to name-2, name-3 ... where that is taken; raises OSError."""
    stem, dot, suffix = name.rpartition(".")
    for number in itertools.count(1):
        path = folder / (name if number == 1 else f"{stem}-{number}{dot}{suffix}")
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")
