"""Reports as files: written beside their place and moved there whole, so that no half of one is ever found."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from doctor.session.written import is_replaceable


def write_whole(path: Path, content: str) -> None:
    """Writes `content` to `path`, in place of what was there. Raises OSError; then nothing has changed."""
    if not is_replaceable(path):
        path.write_text(content, encoding="utf-8", errors="backslashreplace", newline="\n")
        return
    handle, beside = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(content)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
