"""google-re2: one pass tells which patterns occur in a block, then each of these is located by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import re2

from probes.files.log.matcher import Matcher, Patterns, touched

MEMORY = 128 << 20
"""For the automaton of all patterns together; with too little it gives up on a block, and says so."""


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = MEMORY
    options.log_errors = False
    return options


def _multiline(pattern: bytes) -> bytes:
    return b"(?m)" + pattern


class Re2Matcher:
    def __init__(self, patterns: Patterns) -> None:
        self._each = {i: re2.compile(_multiline(pattern), _options()) for i, pattern in patterns.items()}
        self._ids = list(patterns)
        self._set = re2.Set.SearchSet(_options())
        for pattern in patterns.values():
            self._set.Add(_multiline(pattern))
        self._set.Compile()

    def which(self, block: bytes) -> Collection[int]:
        return [self._ids[k] for k in self._set.Match(block) or ()]

    def scan(self, block: bytes) -> Iterator[tuple[int, int]]:
        for i in self.which(block):
            for match in self._each[i].finditer(block):
                yield from ((i, end) for end in touched(block, *match.span()))


def build(patterns: Patterns, cache_dir: Path | None = None) -> tuple[Matcher, set[int]]:
    """A matcher of the patterns that re2 takes, and the indices of the others."""
    rejected = set()
    probe = re2.Set.SearchSet(_options())
    for i, pattern in patterns.items():
        try:
            re2.compile(_multiline(pattern), _options())
            probe.Add(_multiline(pattern))
        except re2.error:
            rejected.add(i)
    return Re2Matcher({i: p for i, p in patterns.items() if i not in rejected}), rejected
