"""Reads JSON, JSON with comments, and Python literals of dicts, with the position of every value.

Real configurations hold comments, trailing commas, single quotes, NaN, and are often cut off; one pass over the
tokens, without recursion, reads all of them in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)
    |(?P<open>[{\[(])|(?P<close>[}\])])|(?P<colon>:)|(?P<comma>,)
    |"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>(?:[^'\\\n]|\\.)*)'
    |(?P<bare>[^\s{}\[\]():,"']+)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
DEEPEST = 60
MOST_VALUES = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """The scalar at the dotted `key`; `offset` is that of its key. Items of a list share the list's key."""

    key: str
    value: str
    offset: int


def entries(text: str) -> Iterator[Entry]:
    """Every scalar under a key; sections deeper than DEEPEST are passed over."""
    path: list[str] = []
    key, key_at, pending = "", 0, None
    found = 0
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind in ("skip", "other"):
            continue
        if kind == "open":
            path.append(key)
            key, pending = "", None
            continue
        if kind == "colon" and pending is not None:
            key, key_at, pending = pending, token.start(), None
            continue
        if kind in ("double", "single", "bare"):
            word = token[kind] or ""
            pending = word if pending is None else f"{pending} {word}"
            continue
        if pending is not None and len(path) <= DEEPEST:
            parts = [part for part in (*path, key) if part]
            if parts:
                found += 1
                yield Entry(".".join(parts), pending, key_at if key else token.start())
        pending = None
        if found >= MOST_VALUES:
            return
        if kind == "close" and path:
            path.pop()
        key = ""


def is_complete(text: str) -> bool:
    """Do all braces close?"""
    depth = 0
    for token in TOKEN.finditer(text):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
    return depth == 0
