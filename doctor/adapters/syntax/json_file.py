"""JSON, with the comments and trailing commas that people leave in it, edited at the places of its values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Entry, Scalar
from doctor.adapters.text import (
    Lines,
    begins_line,
    check_size,
    indent_of,
    line_break,
    line_end,
    line_of,
    splice,
    without_line,
)

LARGEST = 512 * 1024
DEEPEST = 60
TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)|(?P<open>[{\[])|(?P<close>[}\]])|(?P<colon>:)|(?P<comma>,)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<bare>[^\s{}\[\]:,"]+)|(?P<other>.)',
    re.DOTALL,
)


@dataclass(slots=True)
class Section:
    """An object: where its braces stand, and its own scalar settings in order."""

    path: tuple[str, ...]
    start: int
    end: int = -1
    entries: list[Entry] = field(default_factory=list)
    members: int = 0
    first_key: int = -1


class JsonFile:
    """One object of settings, nested."""

    def entries(self, text: str) -> tuple[Entry, ...]:
        return tuple(entry for section in sections(text) for entry in section.entries)

    def replace(self, text: str, entry: Entry, value: Scalar) -> str:
        return splice(text, entry.start, entry.end, _written(value))

    def add(self, text: str, key: str, value: Scalar, beside: tuple[Entry, ...]) -> str:
        *path, name = key.split(".")
        found = {section.path: section for section in sections(text)}
        deepest = next(n for n in range(len(path), -1, -1) if tuple(path[:n]) in found or n == 0)
        section = found.get(tuple(path[:deepest]))
        if section is None:
            raise AdapterError("no object { ... } to add settings to", "没有可加入设置的对象 { ... }")
        newline, inner = line_break(text), _indent(text, section)
        step = inner.removeprefix(indent_of(text, section.start)) or "    "
        missing = path[deepest:]
        body = f'"{name}": {_written(value)}'
        for depth, part in zip(range(len(missing), 0, -1), reversed(missing), strict=True):
            pad, outer = inner + step * depth, inner + step * (depth - 1)
            body = f'"{part}": {{{newline}{pad}{body}{newline}{outer}}}'
        kin = [] if missing else [entry for entry in beside if entry in section.entries]
        near = kin or section.entries
        if not near:
            more = "," if section.members else ""
            tail = "" if section.members else newline + indent_of(text, section.start)
            return splice(text, section.start + 1, section.start + 1, f"{newline}{inner}{body}{more}{tail}")
        return _behind(text, near[-1], body, newline + inner)

    def remove(self, text: str, entry: Entry) -> str:
        after = re.match(r"\s*,", text[entry.last :])
        end = entry.last + (after.end() if after else 0)
        if not after:
            before = re.search(r",(?:\s|//[^\n]*\n|/\*.*?\*/)*$", text[: entry.first][-4096:], re.DOTALL)
            if before:
                comma = entry.first - len(text[: entry.first][-4096:]) + before.start()
                text = splice(text, comma, comma + 1, "")
                entry_first, end = entry.first - 1, end - 1
                return _cut(text, entry_first, end)
        return _cut(text, entry.first, end)


def sections(text: str) -> list[Section]:
    """The objects of the text, outer ones first. Raises AdapterError where it is not whole."""
    check_size(text, LARGEST, "JSON")
    found: list[Section] = []
    stack: list[Section | None] = []
    lines = Lines(text)
    key: tuple[str, int] | None = None
    pending: tuple[str, int, int] | None = None
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        top = stack[-1] if stack else None
        if kind == "open":
            if len(stack) > DEEPEST:
                line = line_of(text, token.start())
                raise AdapterError.at(
                    line, f"more than {DEEPEST} objects inside each other", f"对象嵌套超过 {DEEPEST} 层"
                )
            if top:
                top.members += 1
            outer = next((s.path for s in reversed(stack) if s), ())
            path = (*outer, key[0]) if key else outer
            stack.append(Section(path, token.start()) if token[0] == "{" else None)
            if stack[-1] and not (top is None and len(stack) > 1):
                found.append(stack[-1])
            key = pending = None
        elif kind == "colon" and pending:
            if top and top.first_key < 0:
                top.first_key = pending[1]
            key, pending = (pending[0].strip('"'), pending[1]), None
        elif kind in ("string", "bare"):
            pending = (token[0], *token.span())
        elif kind in ("comma", "close"):
            if top and key and pending:
                dotted = ".".join((*top.path, key[0]))
                word = pending[0][1:-1] if pending[0].startswith('"') else pending[0]
                place = (pending[1], pending[2], key[1], pending[2])
                top.entries.append(Entry(dotted, word, lines.number(key[1]), *place, ".".join(top.path)))
                top.members += 1
            key = pending = None
            if kind == "close":
                if not stack:
                    line = line_of(text, token.start())
                    raise AdapterError.at(line, f"{token[0]} closes nothing", f"{token[0]} 没有对应的开头")
                stack.pop()
                if top:
                    top.end = token.start()
    if stack:
        line = line_of(text, found[-1].start if found else 0)
        raise AdapterError(f"the file ends inside the object of line {line}", f"文件在第 {line} 行的对象内结束")
    return found


def _indent(text: str, section: Section) -> str:
    if section.first_key >= 0 and begins_line(text, section.first_key):
        return indent_of(text, section.first_key)
    return indent_of(text, section.start) + "    "


def _behind(text: str, sibling: Entry, body: str, before: str) -> str:
    if not begins_line(text, sibling.first):
        return splice(text, sibling.last, sibling.last, f", {body}")
    rest = text[sibling.last : line_end(text, sibling.last)]
    followed = re.fullmatch(r"\s*,\s*((?://|#).*|/\*.*\*/)?\s*", rest)
    if followed:
        end = sibling.last + len(rest)
        return splice(text, end, end, f"{before}{body},")
    if re.fullmatch(r"\s*((?://|#).*|/\*.*\*/)\s*", rest):
        end = sibling.last + len(rest)
        text = splice(text, end, end, f"{before}{body}")
        return splice(text, sibling.last, sibling.last, ",")
    return splice(text, sibling.last, sibling.last, f",{before}{body}")


def _cut(text: str, first: int, last: int) -> str:
    rest = text[last : line_end(text, last)].strip()
    if begins_line(text, first) and (not rest or rest.startswith(("//", "#"))):
        return without_line(text, first, last)
    blanks = len(text[last:]) - len(text[last:].lstrip(" "))
    return splice(text, first, last + (blanks if text[first - 1 : first] in " {" else 0), "")


def _written(value: Scalar) -> str:
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value)
