"""Small helpers on text that is edited by offsets."""

from __future__ import annotations

import re
from bisect import bisect_right

from doctor.adapters.errors import AdapterError


def splice(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def line_of(text: str, offset: int) -> int:
    """Number of the line that `offset` is on, from 1."""
    return text.count("\n", 0, offset) + 1


class Lines:
    """Numbers of lines by offset, for many offsets of one text."""

    def __init__(self, text: str) -> None:
        self._starts = [found.end() for found in re.finditer("\n", text)]

    def number(self, offset: int) -> int:
        return bisect_right(self._starts, offset) + 1


def check_depth(text: str, most: int) -> None:
    """Raises AdapterError where brackets are nested deeper than readers can bear."""
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > most:
            line = line_of(text, bracket.start())
            raise AdapterError.at(line, f"brackets nested more than {most} deep", f"括号嵌套超过 {most} 层")


def line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Where the line of `offset` ends, before its line break (CR LF is one)."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    return end - 1 if end > offset and text[end - 1] == "\r" else end


def indent_of(text: str, offset: int) -> str:
    """Blanks that the line of `offset` begins with."""
    start = line_start(text, offset)
    end = start
    while end < len(text) and text[end] in " \t":
        end += 1
    return text[start:end]


def begins_line(text: str, offset: int) -> bool:
    return not text[line_start(text, offset) : offset].strip()


def line_break(text: str) -> str:
    """The line break that the text uses."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def without_line(text: str, first: int, last: int) -> str:
    """The text without the lines that hold [first, last)."""
    end = text.find("\n", last)
    return splice(text, line_start(text, first), len(text) if end < 0 else end + 1, "")


def check_size(text: str, most: int, what: str) -> None:
    """Raises AdapterError for a text that is too large or is no text."""
    if len(text) > most:
        raise AdapterError(
            f"{what} of {len(text):,} characters; at most {most:,} are edited",
            f"{what} 有 {len(text):,} 个字符；最多修改 {most:,} 个字符的文件",
        )
    if "\0" in text:
        line = line_of(text, text.index("\0"))
        raise AdapterError(
            f"line {line} holds a NUL byte: this is no text file", f"第 {line} 行含有 NUL 字节：这不是文本文件"
        )
