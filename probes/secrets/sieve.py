"""Which lines of a block of text may hold a secret: one pass of RE2, so that the patterns see few lines of a large log.

What it passes over is clean: each part below finds all that the pattern it stands for finds, and more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from probes.secrets.forms import FORMS

_LOOK = re.compile(r"\(\?<?[=!]")
_COUNT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_LEAST, _MOST = 4, 8
"""Counts in patterns are lowered to these: long ones would cost RE2 its automaton."""

_LAST = r"(?:[_.\x80-\xff-]*(?:data|value|b64|base64|b|string|raw|env|old|new|prod|dev|\d+))*"
_NAME = (
    r"(?i:(?:password|passwd|passwort|passphrase|secrets?|credentials?|apikey|authkey|authtoken|cookies?|passw|sshpass|secretkey|accesskey|privatekey)"
    r"[\w.\x80-\xff-]*|(?:pwd|pass|keys?|token|auth|authorization|dsn|pat|signature|sas|access[_.-]?key[_.-]?id)"
    + _LAST
    + ")"
)
"""The end of a name that `strength` (probes/secrets/names.py) takes for one of a secret."""
_NAMED = _NAME + r"(?:\\?[\"']?(?:[\s\x80-\xff]*[:=]|\s\.{3,}\s)|[\"']\s*,)|-[\w.-]*" + _NAME + r"[\s\0\x80-\xff]"
"""Bytes beyond ASCII stand for blanks and letters of other scripts."""

_FIRST, _SECOND, _THIRD = "CDI-Za-f", "ACDEFGHQSTUVWXgijklmnwyz0123", "ABEFIJMNQRUVYZcdghklopstwx014589"
_ENCODED = rf"(?:^|\r|[^A-Za-z0-9+/_-])(?:[{_FIRST}][{_SECOND}][{_THIRD}][A-Za-z0-9+/_-]){{5}}"
"""Base64 of printable text: its bytes begin with 0, and with 000 only in tabs and ends of lines."""

_ESCAPED = r"%(?:3[aAdD]|40|2[fF])"
_OF_LINES = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY|^Private-Lines:|\bname\"?\s*:\s*[\"']?[\w.-]+[\"']?,?\s*$"
"""Where a secret may begin that goes on in the next line."""


def suspects(block: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of the lines of `block` that may hold a secret, the end after the line feed; in order."""
    return lines_with(_sieve(), block)


def may_hold(line: str) -> bool:
    """Can any of the patterns of secrets find something in the line?"""
    return _found(_forms(), line)


def may_name(line: str) -> bool:
    """Can the line hold the name of a secret?"""
    return _found(_names(), line)


def _found(pattern: Any, line: str) -> bool:
    return pattern.search(line.encode("utf-8", "surrogateescape")) is not None


def lines_with(pattern: Any, block: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of the lines in which `pattern` is found, or which a find touches; in order, each once."""
    at = 0
    for found in pattern.finditer(block):
        begin, end = found.span()
        begin = max(begin, at)
        while begin < end:
            start, stop = block.rfind(b"\n", at, begin) + 1 or at, block.find(b"\n", begin) + 1 or len(block)
            yield start, stop
            at = begin = stop


def automaton(pattern: str | bytes) -> Any:
    """`pattern` over bytes, each line for itself, with room for a large automaton."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = 128 << 20
    return re2.compile(b"(?m)" + (pattern.encode() if isinstance(pattern, str) else pattern), options)


@cache
def _sieve() -> Any:
    return automaton("|".join([*map(widened, (form for _, form in FORMS)), _NAMED, _ENCODED, _ESCAPED, _OF_LINES]))


@cache
def _forms() -> Any:
    return automaton("|".join(widened(form) for _, form in FORMS))


@cache
def _names() -> Any:
    return automaton(_NAMED)


def widened(pattern: str) -> str:
    """A pattern that finds all that `pattern` finds, without what RE2 does not know or pays dearly for."""
    plain = _without_looks(pattern).replace("(?P<s>", "(?:").replace("(?P<t>", "(?:")
    return _COUNT.sub(_lowered, plain)


def _lowered(count: re.Match[str]) -> str:
    least, most = int(count[1]), count[2]
    if (most is None and least <= _LEAST) or (most and int(most) <= _MOST):
        return count[0]
    return f"{{{min(least, _LEAST)},}}"


def _without_looks(pattern: str) -> str:
    """Without the conditions on what stands before and after: each of them only narrows what is found. The beginning
    and end of a line are those of a line that a progress bar wrote, too."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        if _LOOK.match(pattern, at):
            at = _end(pattern, at)
            continue
        unit = pattern[at : _step(pattern, at)]
        parts.append({"^": r"(?:^|\r)", "$": r"(?:\r|$)"}.get(unit, unit))
        at += len(unit)
    return "".join(parts)


def _step(pattern: str, at: int) -> int:
    """Where the character, escape or class at `at` ends."""
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] != "[":
        return at + 1
    end = at + 2 + (pattern[at + 1] == "^")  # a bracket in the first place stands for itself
    while pattern[end - 1] != "]" or end == at + 2 + (pattern[at + 1] == "^"):
        end += 2 if pattern[end] == "\\" else 1
    return end


def _end(pattern: str, at: int) -> int:
    """Where the group that begins at `at` ends."""
    depth = 0
    while True:
        depth += {"(": 1, ")": -1}.get(pattern[at], 0)
        at = _step(pattern, at)
        if not depth:
            return at
