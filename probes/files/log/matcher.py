"""Finds which of many patterns occur in a block of bytes, and where.

Patterns are matched byte-wise with `^` and `$` at line ends, so that the engines agree with each other and with
Python's `re` on bytes, whatever the encoding of a log. A hit is a candidate: a pattern may have matched over a line
end; the reader confirms it on the line alone.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from probes.files.log.kept import kept
from probes.files.log.locate import Locator
from probes.files.log.syntax import detection, literals, telling_part

ENGINES = ("hyperscan", "re2", "plain")
SMALL_ENGINES = ("literal", "re2", "plain")
QUICK_ENGINES = ("compiled", *SMALL_ENGINES)
"""Ready at once, and fast if another run has compiled the patterns before."""


class Matcher(Protocol):
    """An engine with its compiled patterns."""

    def which(self, block: bytes) -> Collection[int]:
        """Indices of the patterns that occur in `block`."""
        ...

    def scan(self, block: bytes, found: Collection[int] | None = None) -> Iterable[tuple[int, int]]:
        """(pattern index, end offset) of the occurrences; in any order, and a line may be named more than once.

        `found` is what `which` said of this block, if it was asked.
        """
        ...


Patterns: TypeAlias = Mapping[int, bytes]
Build: TypeAlias = Callable[[Patterns, Path | None], tuple[Matcher, set[int]]]


class PlainMatcher:
    """Pattern by pattern: for what no other engine takes, and where none is installed."""

    def __init__(self, patterns: Patterns) -> None:
        self._locator = Locator(patterns)
        self._patterns = patterns

    def which(self, block: bytes) -> Collection[int]:
        return [index for index in self._patterns if any(self._locator.lines(index, block))]

    def scan(self, block: bytes, found: Collection[int] | None = None) -> Iterator[tuple[int, int]]:
        for index in self._patterns if found is None else self._patterns.keys() & set(found):
            yield from self._locator.lines(index, block)


class Several:
    """Engines that share the patterns among them."""

    def __init__(self, parts: Sequence[Matcher]) -> None:
        self._parts = parts

    def which(self, block: bytes) -> Collection[int]:
        return [i for part in self._parts for i in part.which(block)]

    def scan(self, block: bytes, found: Collection[int] | None = None) -> Iterator[tuple[int, int]]:
        for part in self._parts:
            yield from part.scan(block, found)


def build_plain(patterns: Patterns, cache_dir: Path | None = None) -> tuple[Matcher, set[int]]:
    rejected = set()
    for i, pattern in patterns.items():
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            rejected.add(i)
    return PlainMatcher({i: p for i, p in patterns.items() if i not in rejected}), rejected


def _searched(patterns: Sequence[bytes]) -> dict[int, bytes]:
    """What is searched for each pattern: a telling part where no other pattern shares its strings."""
    parts = [telling_part(detection(pattern)) for pattern in patterns]
    owners = Counter(string for pattern in patterns for string in literals(pattern))
    shared = [any(owners[string] > 1 for string in literals(part)) for part in parts]
    return {i: detection(pattern) if shared[i] else detection(parts[i]) for i, pattern in enumerate(patterns)}


def build(
    patterns: Sequence[str],
    cache_dir: Path | None = None,
    engines: Sequence[str] = ENGINES,
    only: Collection[int] | None = None,
) -> tuple[Matcher, tuple[str, ...]]:
    """A matcher of `patterns`, and warnings on those that the best engine does not take.

    What one engine rejects is left to the next, so one bad pattern costs speed but not the others. `cache_dir` keeps
    compiled databases between runs. `only` are the indices of the patterns to take, if not all.
    """
    texts = [pattern.encode("utf-8", "surrogateescape") for pattern in patterns]
    left = kept(cache_dir, "searched", texts, dict[int, bytes], lambda: _searched(texts))
    if only is not None:
        left = {i: pattern for i, pattern in left.items() if i in only}
    parts: list[Matcher] = []
    warnings: list[str] = []
    for name in engines:
        if not left:
            break
        try:
            module = importlib.import_module(f"probes.files.log.{name}_matcher") if name != "plain" else None
        except ImportError:
            if name == "hyperscan":
                warnings.append("read more slowly: the Python package hyperscan is not installed")
            continue
        make: Build = module.build if module else build_plain
        matcher, rejected = make(left, cache_dir)
        if len(rejected) < len(left):
            parts.append(matcher)
        left = {i: left[i] for i in rejected}
        if name not in ("compiled", "literal"):
            warnings += [f"{name} cannot match the pattern {patterns[i]!r}" for i in sorted(rejected)]
    return (parts[0] if len(parts) == 1 else Several(parts)), tuple(warnings)
