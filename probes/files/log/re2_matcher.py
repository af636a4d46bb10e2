"""google-re2: one pass tells which patterns occur in a block, then each of these is located by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import re2

from probes.files.log.locate import Locator
from probes.files.log.matcher import Matcher, Patterns

MEMORY = 128 << 20
"""For the automaton of all patterns together."""


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = MEMORY
    options.never_capture = True
    options.log_errors = False
    return options


class Re2Matcher:
    def __init__(self, patterns: Patterns) -> None:
        self._locator = Locator(patterns)
        self._patterns = patterns
        self._ids = list(patterns)
        self._set = re2.Set.SearchSet(_options())
        for pattern in patterns.values():
            self._set.Add(b"(?m)" + pattern)
        self._set.Compile()

    def which(self, block: bytes) -> Collection[int]:
        return [self._ids[k] for k in self._set.Match(block) or ()]

    def scan(self, block: bytes, found: Collection[int] | None = None) -> Iterator[tuple[int, int]]:
        for index in self.which(block) if found is None else self._patterns.keys() & set(found):
            yield from self._locator.lines(index, block)


def build(patterns: Patterns, cache_dir: Path | None = None) -> tuple[Matcher, set[int]]:
    """A matcher of the patterns that re2 takes, and the indices of the others."""
    rejected = set()
    probe = re2.Set.SearchSet(_options())
    for index, pattern in patterns.items():
        try:
            probe.Add(b"(?m)" + pattern)
        except re2.error:
            rejected.add(index)
    return Re2Matcher({i: p for i, p in patterns.items() if i not in rejected}), rejected
