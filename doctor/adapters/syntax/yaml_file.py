"""YAML, edited at the places of its values: comments, order, quotes and line breaks stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Code, Entry, Scalar
from doctor.adapters.text import (
    Lines,
    check_depth,
    check_size,
    indent_of,
    line_break,
    line_end,
    line_start,
    splice,
    without_line,
)

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node

# The pure-Python reader takes about a second for 200 KiB; real configurations hold a few.
LARGEST = 256 * 1024
MOST_NODES = 20_000
DEEPEST = 60
PLAIN = re.compile(r"[A-Za-z_./][\w./-]*|[+-]?\d[\w.+-]*")
RESERVED = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


class YamlFile:
    """A mapping of settings, nested or flat. Anchors and tags are kept; an alias is no place to edit."""

    def entries(self, text: str) -> tuple[Entry, ...]:
        return tuple(_walk(_root(text), text))

    def replace(self, text: str, entry: Entry, value: Scalar) -> str:
        old = text[entry.start : entry.end]
        new = _written(value, old)
        if entry.start == entry.end:
            blank = "" if text[entry.start - 1 : entry.start] == " " else " "
            return splice(text, entry.start, entry.end, blank + new)
        return splice(text, entry.start, entry.end, new)

    def add(self, text: str, key: str, value: Scalar, beside: tuple[Entry, ...]) -> str:
        *path, name = key.split(".")
        entries = self.entries(text)
        inside = [e for e in entries if path and e.key.split(".")[:-1][-len(path) :] == path] if path else []
        siblings = inside or ([] if path else list(beside))
        if siblings:
            return _behind(text, siblings[-1], f"{name}: {_written(value, '')}")
        if path and (given := _mapping_value(text, path)) is not None:
            return given(f"{name}: {_written(value, '')}")
        top = [e for e in entries if "." not in e.key] or list(entries)
        if not top and text.strip():
            raise AdapterError(f"no mapping of settings to add {key} to", f"没有可加入 {key} 的设置映射")
        step = _step(text)
        lines = [f"{step * depth}{part}:" for depth, part in enumerate(path)]
        lines.append(f"{step * len(path)}{name}: {_written(value, '')}")
        newline = line_break(text)
        base = indent_of(text, top[0].first) if top and "." not in top[0].key else ""
        block = "".join(f"{base}{line}{newline}" for line in lines)
        end = re.search(r"(?:^|\n)(?:\.\.\.|---)[ \t]*\r?\n?\s*$", text)
        at = end.start() + 1 if end and end.start() > 0 else len(text)
        gap = newline if at and text[at - 1] != "\n" else ""
        return splice(text, at, at, gap + block)

    def remove(self, text: str, entry: Entry) -> str:
        if line_start(text, entry.first) + len(indent_of(text, entry.first)) == entry.first:
            return without_line(text, entry.first, max(entry.first, entry.last - 1))
        after = re.match(r"\s*,\s*", text[entry.last :])
        if after:
            return splice(text, entry.first, entry.last + after.end(), "")
        before = re.search(r",?\s*$", text[: entry.first])
        return splice(text, before.start() if before else entry.first, entry.last, "")


def _root(text: str) -> MappingNode | None:
    """The first document's mapping. Nothing is constructed, so tags and merge keys stay what they are."""
    check_size(text, LARGEST, "YAML")
    check_depth(text, 2 * DEEPEST)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.nodes import MappingNode

    try:
        root = next(iter(YAML(typ="safe", pure=True).compose_all(text)), None)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or type(error).__name__
        line = mark.line + 1 if mark else None
        raise AdapterError.at(line, f"not valid YAML: {why}", f"不是有效的 YAML：{why}") from None
    if root is not None and not isinstance(root, MappingNode):
        raise AdapterError.at(root.start_mark.line + 1, "YAML, but no mapping of settings", "是 YAML，但不是设置的映射")
    return root


def _walk(root: Node | None, text: str) -> Iterator[Entry]:
    from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

    seen: set[int] = set()
    stack: list[tuple[str, MappingNode, int]] = [("", root, 0)] if isinstance(root, MappingNode) else []
    found: list[Entry] = []
    lines = Lines(text)
    while stack and len(seen) < MOST_NODES:
        path, mapping, depth = stack.pop()
        for name, value in mapping.value:
            if not isinstance(name, ScalarNode) or id(value) in seen or depth > DEEPEST:
                continue
            if ":" not in text[name.end_mark.index :]:  # `? key` without a value
                continue
            seen.add(id(value))
            key = f"{path}.{name.value}" if path else str(name.value)
            if isinstance(value, MappingNode):
                stack.append((key, value, depth + 1))
            elif isinstance(value, ScalarNode) or (isinstance(value, SequenceNode) and value.flow_style):
                found.append(_entry(text, lines, key, path, name, value))
    return iter(sorted(found, key=lambda entry: entry.first))


def _entry(text: str, lines: Lines, key: str, path: str, name: Node, value: Node) -> Entry:
    start, end = value.start_mark.index, value.end_mark.index
    word = text[start:end]
    if not word.strip() or not getattr(value, "value", None):
        word = word.strip()
        colon = text.index(":", name.end_mark.index) + 1
        start, end = (start, end) if word else (colon, colon)
    elif value.anchor and word.startswith("&"):
        skipped = re.match(r"&\S+\s*", word)
        start += skipped.end() if skipped else 0
    tag = re.match(r"!\S*\s*", text[start:end])
    start += tag.end() if tag else 0
    content = text[start:end].strip()
    end = start + len(text[start:end].rstrip())
    if content[:1] in "'\"" and content:
        start, end, content = start + 1, end - 1, content[1:-1]
    last = end + 1 if text[end : end + 1] in ("'", '"') else end
    return Entry(key, content, lines.number(name.start_mark.index), start, end, name.start_mark.index, last, path)


def _behind(text: str, sibling: Entry, piece: str) -> str:
    """`piece` on a line of its own behind its sibling's, or behind it in a flow mapping."""
    at = line_start(text, sibling.first) + len(indent_of(text, sibling.first))
    if at != sibling.first and not text[at : sibling.first].startswith("- "):
        return splice(text, sibling.last, sibling.last, f", {piece}")
    indent = " " * (sibling.first - line_start(text, sibling.first))
    end = line_end(text, sibling.last)
    return splice(text, end, end, f"{line_break(text)}{indent}{piece}")


class _Inserter:
    """Puts a setting into a section that is there, but holds no scalars, or nothing at all."""

    def __init__(self, text: str, name: Node, value: Node) -> None:
        self.text, self.name, self.value = text, name, value

    def __call__(self, piece: str) -> str:
        text, start = self.text, self.value.start_mark.index
        if text[start : start + 1] == "{":
            more = ", " if self.value.value else ""
            return splice(text, start + 1, start + 1, piece + more)
        colon = text.index(":", self.name.end_mark.index) + 1
        rest = text[colon : line_end(text, colon)]
        word = re.match(r"[ \t]*(?:null|~)(?=[ \t]|$)", rest)
        if word:
            text = splice(text, colon, colon + word.end(), "")
        column = " " * (self.name.start_mark.index - line_start(text, self.name.start_mark.index)) + _step(text)
        end = line_end(text, colon)
        return splice(text, end, end, f"{line_break(text)}{column}{piece}")


def _mapping_value(text: str, path: list[str]) -> _Inserter | None:
    """The section at the end of `path`, where the file has it; the first parts may be missing from `path`."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode

    stack: list[tuple[list[str], Node | None]] = [([], _root(text))]
    seen = 0
    while stack and seen < MOST_NODES:
        here, node = stack.pop()
        if not isinstance(node, MappingNode) or len(here) > DEEPEST:
            continue
        for name, value in node.value:
            seen += 1
            if not isinstance(name, ScalarNode) or ":" not in text[name.end_mark.index :]:
                continue
            below = [*here, str(name.value)]
            empty = isinstance(value, ScalarNode) and str(value.value).lower() in ("", "null", "~")
            if below[-len(path) :] == path and (isinstance(value, MappingNode) or empty):
                return _Inserter(text, name, value)
            stack.append((below, value))
    return None


def _step(text: str) -> str:
    """How far the file indents a section."""
    found = re.search(r":[ \t]*\r?\n( +)[\w\"']", text)
    return found[1] if found and len(found[1]) <= 8 else "  "


def _written(value: Scalar, old: str) -> str:
    if isinstance(value, bool):
        word = "true" if value else "false"
        return word.capitalize() if old[:1] in ("T", "F") else word
    if isinstance(value, tuple):
        return "[" + ", ".join(value) + "]"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else _fraction(value)
    if isinstance(value, Code):
        return value
    return value if PLAIN.fullmatch(value) and value.lower() not in RESERVED else '"' + value.replace('"', '\\"') + '"'


def _fraction(value: float) -> str:
    """YAML 1.1, which PyYAML reads, takes 1e-05 for a word; 1.0e-05 is a number."""
    mantissa, exponent, power = repr(value).partition("e")
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else repr(value)
