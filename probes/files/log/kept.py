"""What is made of the patterns, kept between runs: taking two thousand of them apart costs more than a small log."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from probes.files.log import syntax

T = TypeVar("T")
KEPT = 4
"""Files of one kind that stay: several sets of patterns may be in use by turns."""


def kept(folder: Path | None, kind: str, patterns: Iterable[bytes], form: type[T], make: Callable[[], T]) -> T:
    """`make()`, or what it gave for the same patterns before. `form` is its type; a damaged file is made anew."""
    if folder is None:
        return make()
    digest = hashlib.sha256(Path(syntax.__file__).read_bytes())
    for pattern in patterns:
        digest.update(b"%d %b\n" % (len(pattern), pattern))
    path = folder / f"{kind}-{digest.hexdigest()[:24]}.msgpack"
    with contextlib.suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
        return msgspec.msgpack.decode(path.read_bytes(), type=form)
    made = make()
    write(path, msgspec.msgpack.encode(made))
    forget(folder, f"{kind}-*.msgpack")
    return made


def forget(folder: Path, names: str, left: int = KEPT) -> None:
    """Takes away all files called `names` but the `left` that were made last."""
    with contextlib.suppress(OSError):
        for old in sorted(folder.glob(names), key=lambda file: file.stat().st_mtime)[:-left]:
            old.unlink(missing_ok=True)


def write(path: Path, data: bytes) -> None:
    """Write whole or not at all: another run may read at the same time. A cache that cannot be written is no fault."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
