"""TOML, edited line by line; comments and order stay as they are."""

from __future__ import annotations

import json
import re
import tomllib

from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Entry, Scalar
from doctor.adapters.text import check_size, indent_of, line_break, line_end, splice, without_line

LARGEST = 512 * 1024
SECTION = re.compile(r"[ \t]*\[([^\[\]\n]+)\][ \t]*(?:#.*)?\r?")
PAIR = re.compile(
    r"[ \t]*(?P<key>[\w.\"'-]+)[ \t]*=[ \t]*"
    r"(?P<value>\"\"\".*|'''.*|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|\[[^\]\n#]*\]|[^#\n\r]*?)[ \t]*(?:#.*)?\r?"
)


class TomlFile:
    """Sections of `key = value` lines. Values of several lines and tables in one line are left alone."""

    def entries(self, text: str) -> tuple[Entry, ...]:
        _checked(text)
        found, section, at, open_until = [], "", 0, ""
        for number, line in enumerate(text.split("\n"), 1):
            if open_until:
                open_until = "" if open_until in line else open_until
            elif header := SECTION.fullmatch(line):
                section = re.sub(r"[\"'\s]", "", header[1])
            elif pair := PAIR.fullmatch(line):
                value = pair["value"]
                open_until = next((mark for mark in ('"""', "'''") if value.count(mark) == 1), "")
                open_until = open_until or ("]" if value.startswith("[") and "]" not in value else "")
                if not open_until and not value.startswith("{"):
                    name = pair["key"].strip("\"'")
                    quoted = value[:1] in ("'", '"')
                    key = f"{section}.{name}" if section else name
                    start, end = at + pair.start("value"), at + pair.end("value")
                    word = value[1:-1] if quoted else value
                    found.append(Entry(key, word, number, start, end, at + pair.start("key"), end, section))
            at += len(line) + 1
        return tuple(found)

    def replace(self, text: str, entry: Entry, value: Scalar) -> str:
        return _checked(splice(text, entry.start, entry.end, _written(value)))

    def add(self, text: str, key: str, value: Scalar, beside: tuple[Entry, ...]) -> str:
        section, _, name = key.rpartition(".")
        entries = self.entries(text)
        inside = [entry for entry in entries if entry.group == section]
        near = [entry for entry in beside if entry.group == section] or inside
        line, newline = f"{name} = {_written(value)}", line_break(text)
        if near:
            end = line_end(text, near[-1].last)
            return _checked(splice(text, end, end, f"{newline}{indent_of(text, near[-1].first)}{line}"))
        for header in SECTION.finditer(text):
            if re.sub(r"[\"'\s]", "", header[1]) == section:
                end = line_end(text, header.end(1))
                return _checked(splice(text, end, end, f"{newline}{line}"))
        gap = "" if not text or text.endswith("\n") else newline
        return _checked(f"{text}{gap}{newline}[{section}]{newline}{line}{newline}")

    def remove(self, text: str, entry: Entry) -> str:
        return without_line(text, entry.first, entry.last)


def _checked(text: str) -> str:
    check_size(text, LARGEST, "TOML")
    try:
        tomllib.loads(text.replace("\r\n", "\n").removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = str(error)[:200] or type(error).__name__
        raise AdapterError(f"not valid TOML: {why}", f"不是有效的 TOML：{why}") from None
    return text


def _written(value: Scalar) -> str:
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value)
