"""A pattern as a person would see its message: `Connect to <host> failed` for `Connect to (?P<host>\\S+) failed`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

GAP = "…"
LONGEST = 160


def sample(pattern: str) -> str:
    """One line that `pattern` is meant for. Captures are shown by name, other numbers and words as <n> and <word>.

    Of alternatives the first is taken, what may be missing is left out; a gap of any text is an ellipsis.
    """
    try:
        tree = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return pattern[:LONGEST]
    names = {number: name for name, number in tree.state.groupdict.items()}
    text = re.sub(r"\s+", " ", "".join(_shown(tree, names))).strip(GAP + " ")
    text = re.sub(rf"{GAP}(?:\s*{GAP})+", GAP, text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + GAP


def _shown(tree: Any, names: dict[int, str]) -> Iterator[str]:
    for code, argument in tree:
        if code is codes.LITERAL:
            yield chr(argument)
        elif code is codes.SUBPATTERN:
            name = names.get(argument[0])
            yield f"<{name}>" if name and _varies(argument[3]) else "".join(_shown(argument[3], names))
        elif code is codes.BRANCH:
            yield from _shown(argument[1][0], names)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            yield from _repeated(argument, names)
        elif code in (codes.IN, codes.ANY, codes.NOT_LITERAL):
            yield _one(code, argument)


def _repeated(argument: Any, names: dict[int, str]) -> Iterator[str]:
    least, most, inner = argument
    if len(inner) == 1 and inner[0][0] in (codes.IN, codes.ANY, codes.NOT_LITERAL):
        kind = _one(*inner[0])
        if kind in ("<n>", "<word>", GAP) and (least or most > 3):
            yield kind
        elif least:
            yield kind * least if len(kind) == 1 else kind
    elif least == 0 and most == 1 and [*inner] == [(codes.LITERAL, ord(" "))]:
        yield " "
    elif least:
        yield "".join(_shown(inner, names)) * min(least, 8)


def _one(code: Any, argument: Any) -> str:
    """How one character of a class is shown: itself, or what the class is of."""
    if code is not codes.IN:
        return GAP
    first, value = argument[0]
    if first is codes.NEGATE:
        return "<word>" if any(item == (codes.CATEGORY, codes.CATEGORY_SPACE) for item in argument) else GAP
    if (codes.CATEGORY, codes.CATEGORY_SPACE) in argument:
        return " "
    letters = [item for item in argument if item[0] in (codes.CATEGORY, codes.RANGE)]
    if not letters:
        # `[ =:]` stands for whatever separates; a blank reads best.
        return " " if (codes.LITERAL, ord(" ")) in argument else chr(value)
    digits = [
        item
        for item in letters
        if item == (codes.CATEGORY, codes.CATEGORY_DIGIT) or (item[0] is codes.RANGE and item[1] == (48, 57))
    ]
    hexadecimal = all(item[0] is codes.RANGE and item[1] in ((48, 57), (97, 102), (65, 70)) for item in letters)
    return "<n>" if hexadecimal or len(digits) == len(letters) else "<word>"


def _varies(tree: Any) -> bool:
    """Does the group match more than one text?"""
    return any(code is not codes.LITERAL for code, _ in tree)
