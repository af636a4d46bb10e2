"""Shortens a pattern to what decides whether it occurs.

What a pattern may match after its last required part adds captures but no lines. Without it an engine that reports
every end of a match reports far fewer.
"""

from __future__ import annotations

import re

OPTIONAL = (b"??", b"*?", b"?", b"*")
GROUP = re.compile(rb"\((?:\?:|\?P<\w+>)?(?!\?)")


def detection(pattern: bytes) -> bytes:
    """The shortest start of `pattern` that occurs in the same lines; `pattern` itself where that is hard to tell."""
    while (shorter := _without_tail(pattern)) is not None:
        pattern = shorter
    return pattern


def _without_tail(pattern: bytes) -> bytes | None:
    atoms = _atoms(pattern)
    if not atoms:
        return None
    start, end = atoms[-1]
    quantifier = pattern[end:]
    optional = quantifier in OPTIONAL or quantifier.startswith((b"{0,", b"{,"))
    if optional and len(atoms) > 1:
        return pattern[:start]
    if quantifier in (b"+", b"+?"):
        return pattern[:end]
    if not quantifier and (group := GROUP.match(pattern, start)):
        inner = _without_tail(pattern[group.end() : end - 1])
        return None if inner is None else pattern[: group.end()] + inner + b")"
    return None


def _atoms(pattern: bytes) -> list[tuple[int, int]]:
    """Start and end (without quantifier) of the top-level atoms; nothing if there are alternatives at the top."""
    atoms = []
    position = 0
    while position < len(pattern):
        end = _atom_end(pattern, position)
        if end is None or pattern[position : position + 1] == b"|":
            return []
        atoms.append((position, end))
        position = _quantifier_end(pattern, end)
    return atoms


def _quantifier_end(pattern: bytes, position: int) -> int:
    if pattern[position : position + 1] == b"{":
        close = pattern.find(b"}", position)
        position = close + 1 if close > 0 else position + 1
    elif pattern[position : position + 1] in (b"*", b"+", b"?"):
        position += 1
    else:
        return position
    return position + 1 if pattern[position : position + 1] == b"?" else position


def _atom_end(pattern: bytes, position: int) -> int | None:
    first = pattern[position : position + 1]
    if first == b"\\":
        return position + 2 if pattern[position + 1 : position + 2] != b"x" else position + 4
    if first == b"[":
        return _class_end(pattern, position)
    if first != b"(":
        return position + 1
    depth = 0
    while position < len(pattern):
        char = pattern[position : position + 1]
        if char == b"\\":
            position += 1
        elif char == b"[":
            end = _class_end(pattern, position)
            if end is None:
                return None
            position = end - 1
        elif char == b"(":
            depth += 1
        elif char == b")":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return None


def _class_end(pattern: bytes, position: int) -> int | None:
    position += 1
    if pattern[position : position + 1] == b"^":
        position += 1
    if pattern[position : position + 1] == b"]":
        position += 1
    while position < len(pattern):
        char = pattern[position : position + 1]
        if char == b"\\":
            position += 1
        elif char == b"]":
            return position + 1
        position += 1
    return None
