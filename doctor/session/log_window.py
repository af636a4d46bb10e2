"""Opens a log at a line at once, however large it is: only blocks up to that line are counted, none is kept."""

from __future__ import annotations

import bisect
from pathlib import Path

BLOCK = 1 << 20
LONGEST = 4096
"""Bytes of a line that are shown."""


class LogWindow:
    """Lines of a file by number, counted from 1. Where each block begins is remembered, its text is not.

    Raises OSError when the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        self._starts = [1]  # the number of the line that holds each block's first byte
        self._ended = False

    def close(self) -> None:
        self._file.close()

    def lines(self, first: int, count: int) -> list[str]:
        """Lines `first` to `first + count - 1`, fewer where the file ends; undecodable bytes become U+FFFD."""
        first = max(first, 1)
        self._count_to(first + count)
        block = max(bisect.bisect_left(self._starts, first) - 1, 0)
        number = self._starts[block]
        self._file.seek(block * BLOCK)
        found: list[str] = []
        while number < first + count:
            line = self._file.readline(LONGEST)
            if not line:
                break
            whole = line.endswith(b"\n")
            if number >= first:  # a block but the first may begin inside a line, which comes before `first`
                found.append(line.rstrip(b"\r\n").decode("utf-8", errors="replace"))
            while line and not whole:
                line = self._file.readline(LONGEST)
                whole = line.endswith(b"\n")
            number += 1
        return found

    def known_lines(self) -> tuple[int, bool]:
        """Lines that were counted so far, and whether that is all of the file."""
        return self._starts[-1], self._ended

    def count_all(self) -> int:
        """Lines of the whole file; takes as long as reading it does."""
        self._count_to(1 << 62)
        return self._starts[-1]

    def _count_to(self, line: int) -> None:
        while not self._ended and self._starts[-1] <= line:
            self._file.seek((len(self._starts) - 1) * BLOCK)
            data = self._file.read(BLOCK)
            self._ended = len(data) < BLOCK
            self._starts.append(self._starts[-1] + data.count(b"\n"))
