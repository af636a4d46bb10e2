"""Finds the lines of a block in which one pattern occurs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any


def linear(pattern: bytes, captures: bool = True) -> Any:
    """`pattern` compiled for search in linear time where re2 is installed and takes it, else by Python's `re`."""
    try:
        import re2

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.never_capture = not captures
        options.log_errors = False
        return re2.compile(b"(?m)" + pattern, options)
    except Exception:  # re2 is absent, or raises its own kind of error for what it does not take
        return re.compile(pattern, re.MULTILINE)


class Locator:
    """Patterns that are compiled when they are first looked for."""

    def __init__(self, patterns: Mapping[int, bytes]) -> None:
        self._patterns = patterns
        self._compiled: dict[int, Any] = {}

    def lines(self, index: int, block: bytes) -> Iterator[tuple[int, int]]:
        """(index, offset in the line) of the lines of `block` with pattern `index`."""
        if index not in self._compiled:
            self._compiled[index] = linear(self._patterns[index], captures=False)
        for match in self._compiled[index].finditer(block):
            for end in touched(block, *match.span()):
                yield index, end


def touched(block: bytes, start: int, end: int) -> Iterator[int]:
    """One end offset in each line that block[start:end] touches: a match over lines may hide one within a line."""
    while (line_end := block.find(b"\n", start, end)) >= 0:
        if line_end > start:
            yield line_end
        start = line_end + 1
    if start < end:
        yield end
