"""A change as a unified diff that `patch -p1` and `git apply` take."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from doctor.adapters.errors import AdapterError


def unified(path: str, old: str, new: str, context: int = 3) -> str:
    """The diff from `old` to `new` of the file `path`, "" where they are the same. Line breaks are kept as they are."""
    if old == new:
        return ""
    name = path.replace("\\", "/").lstrip("/")
    if not name or any(character in name for character in "\n\r\t"):
        raise AdapterError(f"{path!r} is no file name that a patch can hold", f"{path!r} 不能作为补丁中的文件名")
    end = "\t" if " " in name else ""  # for patch a name ends at a blank, but for one that a tab ends
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{name}{end}", f"b/{name}{end}", n=context)
    return "".join(_ended(lines))


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one, as for patch."""
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
