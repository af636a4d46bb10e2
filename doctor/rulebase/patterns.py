"""What makes a pattern fit for scanning gigabytes: the common subset of the engines, and a literal to look for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SHORTEST_LITERAL = 4
"""Bytes of fixed text a pattern must hold, so that an engine can skip what cannot match."""

FEW = 2
"""A class of so few characters, such as `[Ii]`, is as good as fixed text."""

MAX_LENGTH = 1000


def faults(pattern: str) -> Iterator[str]:
    """Everything that makes `pattern` unfit, each as one clause."""
    if len(pattern) > MAX_LENGTH:
        yield f"is {len(pattern)} characters long; the limit is {MAX_LENGTH}"
    try:
        tree = parser.parse(pattern)
    except re.error as error:
        yield f"does not compile: {error.msg}"
        return
    yield from dict.fromkeys(_unsupported(tree))
    if longest_literal(tree) < SHORTEST_LITERAL:
        yield f"has no fixed text of {SHORTEST_LITERAL} bytes or more"
    for end, name in ((0, "begins"), (-1, "ends")):
        if len(tree) and _anything(tree[end]):
            yield f"{name} with an unbounded `.*` or `.+`, which makes every byte a match"


def _unsupported(tree: Any) -> Iterator[str]:
    for code, argument in _walk(tree):
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            yield "uses look-around"
        elif code in (codes.GROUPREF, codes.GROUPREF_EXISTS):
            yield "uses a back-reference"
        elif code in (codes.ATOMIC_GROUP, codes.POSSESSIVE_REPEAT):
            yield "uses possessive or atomic matching"
        elif _crosses_lines(code, argument):
            yield "has a negated class that matches line ends: add \\n to it"


def _crosses_lines(code: Any, argument: Any) -> bool:
    """Is it a negated class that a line end belongs to?"""
    if code is codes.NOT_LITERAL:
        return bool(argument != ord("\n"))
    return code is codes.IN and argument[0][0] is codes.NEGATE and not _excludes_newline(argument)


def _excludes_newline(argument: Any) -> bool:
    for code, value in argument[1:]:
        if code is codes.LITERAL and value == ord("\n"):
            return True
        if code is codes.RANGE and value[0] <= ord("\n") <= value[1]:
            return True
        if code is codes.CATEGORY and value is codes.CATEGORY_SPACE:
            return True
    return False


def longest_literal(tree: Any) -> int:
    """Length of the longest run of fixed characters that every match contains."""
    best = run = 0
    for code, argument in tree:
        if code is codes.LITERAL or (code is codes.IN and _few(argument)):
            run += 1
            best = max(best, run)
            continue
        if code is codes.SUBPATTERN:
            best = max(best, longest_literal(argument[3]))
        elif code is codes.BRANCH:
            # The parser pulls a common prefix out of the branches, so what stood before them counts with each.
            best = max(best, run + min(_leading(branch) for branch in argument[1]))
            best = max(best, min(longest_literal(branch) for branch in argument[1]))
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[0] >= 1:
            best = max(best, longest_literal(argument[2]))
        run = 0
    return best


def _leading(tree: Any) -> int:
    """Characters of fixed text that `tree` begins with."""
    count = 0
    for code, argument in tree:
        if code is not codes.LITERAL and not (code is codes.IN and _few(argument)):
            break
        count += 1
    return count


def _few(argument: Any) -> bool:
    return len(argument) <= FEW and all(code is codes.LITERAL for code, _ in argument)


def _anything(item: Any) -> bool:
    code, argument = item
    if code is codes.SUBPATTERN and len(argument[3]):
        return _anything(argument[3][-1])
    if code not in (codes.MAX_REPEAT, codes.MIN_REPEAT) or argument[1] is not codes.MAXREPEAT:
        return False
    return any(inner is codes.ANY for inner, _ in argument[2])


def _walk(tree: Any) -> Iterator[tuple[Any, Any]]:
    for code, argument in tree:
        yield code, argument
        if code is codes.SUBPATTERN:
            yield from _walk(argument[3])
        elif code is codes.BRANCH:
            for branch in argument[1]:
                yield from _walk(branch)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from _walk(argument[2])
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _walk(argument[1])
        elif code is codes.ATOMIC_GROUP:
            yield from _walk(argument)
