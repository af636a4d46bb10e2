"""Joins the lines of a shell script that belong together, and finds quotes, comments and here-documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
MOST_JOINED = 400


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical line: `text` may hold newlines; `heredoc` is the body of a here-document that follows it."""

    text: str
    line: int
    heredoc: str | None = None
    heredoc_line: int = 0


def logical_lines(text: str, first_line: int = 1) -> Iterator[Logical]:
    """Lines joined where a backslash, a quote or an array carries them on.

    A quote that does not close within MOST_JOINED lines is taken for an apostrophe: its line stands alone.
    """
    lines = [line.rstrip("\r") for line in text.split("\n")]
    at = 0
    while at < len(lines):
        start, state = at, _scan(lines[at], _State())
        while state.open and at + 1 < len(lines) and at - start < MOST_JOINED:
            at += 1
            state = _scan(lines[at], state)
        if state.quote:
            at = start
        joined = "\n".join(lines[start : at + 1])
        at += 1
        here = None if lines[start].lstrip().startswith("#") or "<<" not in joined else HEREDOC.search(joined)
        body = at
        if here:
            while at < len(lines) and lines[at].strip() != here[2]:
                at += 1
            at += 1
        yield Logical(joined, start + first_line, "\n".join(lines[body : at - 1]) if here else None, body + first_line)


@dataclass(frozen=True, slots=True)
class _State:
    """What is still open at the end of a line."""

    quote: str = ""
    depth: int = 0
    carried: bool = False

    @property
    def open(self) -> bool:
        return bool(self.quote) or self.depth > 0 or self.carried


def _scan(line: str, state: _State) -> _State:
    quote, depth, at = state.quote, state.depth, 0
    while at < len(line):
        char = line[at]
        if quote:
            end = quote_end(line, at, quote)
            if end >= len(line):
                return _State(quote, depth, True)
            at, quote = end, ""
        elif char == "\\":
            if not line[at + 1 :].strip():
                return _State("", depth, True)
            at += 1
        elif char in "'\"":
            quote = char
        elif char == "#" and (at == 0 or line[at - 1] in " \t;"):
            break
        elif char == "(" and (depth or line[at - 1 : at] in ("=", "$")):
            depth += 1
        elif char == ")" and depth:
            depth -= 1
        at += 1
    return _State(quote, depth)


def without_comment(text: str) -> str:
    """`text` up to an unquoted `#` that begins a word."""
    at, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            at, quote = quote_end(text, at, quote), ""
        elif char == "\\":
            at += 1
        elif char in "'\"":
            quote = char
        elif char == "#" and (at == 0 or text[at - 1] in " \t;"):
            return text[:at]
        at += 1
    return text


def quote_end(text: str, at: int, quote: str) -> int:
    """Where, from `at`, the open `quote` closes; the end of `text` where it does not."""
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote == '"' else 1
    return at


def closing(text: str, at: int) -> int:
    """Just behind the parenthesis that closes the one at `at`."""
    depth = 0
    while at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
        if depth == 0:
            break
    return at
