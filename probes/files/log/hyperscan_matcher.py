"""hyperscan: one pass over a block for all patterns, from a database that is compiled once and kept on disk.

Each pattern is reported once a block, which is several times as fast as every match; the few that occur are then
located by themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import hyperscan

from probes.files.log.kept import forget, write
from probes.files.log.locate import Locator
from probes.files.log.matcher import Matcher, Patterns

KEPT = 8
"""Databases that stay: several sets of patterns may be in use by turns, and each has up to three parts."""

FLAGS = hyperscan.HS_FLAG_MULTILINE | hyperscan.HS_FLAG_SINGLEMATCH


class HyperscanMatcher:
    def __init__(self, database: Any, patterns: Patterns) -> None:
        self._database = database
        self._patterns = patterns
        self._locator = Locator(patterns)

    def which(self, block: bytes) -> Collection[int]:
        found: list[int] = []

        def on_match(index: int, start: int, end: int, flags: int, context: object) -> None:
            found.append(index)

        self._database.scan(block, match_event_handler=on_match)
        return found

    def scan(self, block: bytes, found: Collection[int] | None = None) -> Iterator[tuple[int, int]]:
        for index in self.which(block) if found is None else self._patterns.keys() & set(found):
            yield from self._locator.lines(index, block)


def build(patterns: Patterns, cache_dir: Path | None = None) -> tuple[Matcher, set[int]]:
    """A matcher of the patterns that hyperscan takes, and the indices of the others."""
    rejected: set[int] = set()
    try:
        database = _database(patterns, cache_dir)
    except hyperscan.error:
        rejected = {index for index, pattern in patterns.items() if not _compiles(pattern)}
        patterns = {i: p for i, p in patterns.items() if i not in rejected}
        database = _database(patterns, cache_dir) if patterns else None
    return HyperscanMatcher(database, patterns), rejected


def compiled(patterns: Patterns, cache_dir: Path | None) -> Matcher | None:
    """A matcher of `patterns` if they were compiled before."""
    database = _kept(patterns, cache_dir)
    return None if database is None else HyperscanMatcher(database, patterns)


def _compiles(pattern: bytes) -> bool:
    try:
        _compile({0: pattern})
    except hyperscan.error:
        return False
    return True


def _compile(patterns: Patterns) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=list(patterns.values()), ids=list(patterns), flags=FLAGS)
    return database


def _database(patterns: Patterns, cache_dir: Path | None) -> Any:
    if (database := _kept(patterns, cache_dir)) is not None:
        return database
    database = _compile(patterns)
    if cache_dir is not None:
        write(cache_dir / _name(patterns), hyperscan.dumpb(database))
        forget(cache_dir, "patterns-*.hs", KEPT)
    return database


def _kept(patterns: Patterns, cache_dir: Path | None) -> Any | None:
    if cache_dir is None:
        return None
    path = cache_dir / _name(patterns)
    with contextlib.suppress(OSError, hyperscan.error):
        database = hyperscan.loadb(path.read_bytes(), hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
        # A database made for another processor loads, but does not scan.
        database.scan(b"\n", match_event_handler=lambda *_: None)
        return database
    return None


def _name(patterns: Patterns) -> str:
    digest = hashlib.sha256(f"{version('hyperscan')} {platform.machine()} {FLAGS}".encode())
    for index, pattern in patterns.items():
        digest.update(f"\n{index} {len(pattern)} ".encode() + pattern)
    return f"patterns-{digest.hexdigest()[:32]}.hs"
