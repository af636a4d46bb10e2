"""Looks for one required string of each pattern only: ready in milliseconds, for inputs of a few megabytes.

The patterns' own databases take seconds to compile, which pays for large logs. Here every line with a string is a
candidate, and the reader's check of the candidates does the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

import hyperscan

from probes.files.log.kept import kept
from probes.files.log.matcher import Matcher, Patterns
from probes.files.log.syntax import literals

SHORTEST = 3


class LiteralMatcher:
    def __init__(self, by_string: dict[bytes, list[int]]) -> None:
        self._indices = list(by_string.values())
        self._database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(expressions=list(by_string), ids=list(range(len(by_string))), flags=0, literal=True)

    def which(self, block: bytes) -> Collection[int]:
        return {index for number in {number for number, _ in self._strings(block)} for index in self._indices[number]}

    def scan(self, block: bytes, found: Collection[int] | None = None) -> list[tuple[int, int]]:
        strings = self._strings(block)
        told = {number: self._indices[number] for number in {number for number, _ in strings}}
        if found is not None:
            told = {number: [index for index in indices if index in found] for number, indices in told.items()}
        return [(index, end) for number, end in strings for index in told[number]]

    def _strings(self, block: bytes) -> list[tuple[int, int]]:
        """(number, end offset) of each string in `block`."""
        found: list[tuple[int, int]] = []

        def on_match(number: int, start: int, end: int, flags: int, context: object) -> None:
            found.append((number, end))

        self._database.scan(block, match_event_handler=on_match)
        return found


def build(patterns: Patterns, cache_dir: Path | None = None) -> tuple[Matcher, set[int]]:
    """A matcher of the patterns that have a required string, and the indices of the others."""
    texts = (b"%d %b" % pair for pair in patterns.items())
    strings = kept(cache_dir, "strings", texts, dict[int, list[bytes]], lambda: _strings(patterns))
    by_string: dict[bytes, list[int]] = defaultdict(list)
    for index, choice in strings.items():
        for string in choice:
            by_string[string].append(index)
    if not by_string:
        by_string[b"\0"] = []
    return LiteralMatcher(by_string), patterns.keys() - strings.keys()


def _strings(patterns: Patterns) -> dict[int, list[bytes]]:
    """The strings of each pattern of which a match holds one, where they are long enough to be telling."""
    found = {index: sorted(literals(pattern)) for index, pattern in patterns.items()}
    return {index: choice for index, choice in found.items() if choice and min(map(len, choice)) >= SHORTEST}
