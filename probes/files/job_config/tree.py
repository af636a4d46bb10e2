"""Feeds the values of nested text, such as JSON, to a sheet."""

from __future__ import annotations

from bisect import bisect_right

from probes.files.job_config.lenient import entries, is_complete
from probes.files.job_config.sheet import Sheet


def line_starts(text: str) -> list[int]:
    """Offsets at which the lines of `text` begin."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def read_nested(sheet: Sheet, text: str, first_line: int = 1, section: str = "", whole: bool = False) -> int:
    """Read the settings of JSON or of a Python dict that begins on `first_line`; how many keys were known.

    `section` is put before every key. `whole` says that `text` is a file of its own, so a missing end is worth a
    warning.
    """
    starts = line_starts(text)
    known = 0
    for entry in entries(text):
        key = f"{section}.{entry.key}" if section else entry.key
        known += sheet.setting(key, entry.value, bisect_right(starts, entry.offset) + first_line - 1)
    if whole and not is_complete(text):
        sheet.warn(len(starts) + first_line - 1, "the file ends inside a section")
    return known
