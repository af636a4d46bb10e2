"""Python recipes: `config.section.name = value` and `Section(name=value)`, edited in place. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Code, Entry, Scalar
from doctor.adapters.text import begins_line, check_size, indent_of, line_break, line_end, splice, without_line

LARGEST = 512 * 1024
DEEPEST = 60
SECTION_OF_CLASS = re.compile(r"(?:Config|Section)$")


class PythonFile:
    """Assignments and keyword arguments; `group` of an entry is the function that it stands in."""

    def entries(self, text: str) -> tuple[Entry, ...]:
        check_size(text, LARGEST, "Python")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            why = getattr(error, "msg", None) or type(error).__name__
            raise AdapterError.at(line, f"not valid Python: {why}", f"不是有效的 Python：{why}") from None
        places = _Places(text)
        found = list(_statements(tree.body, places, ""))
        return tuple(sorted(found, key=lambda entry: entry.first))

    def replace(self, text: str, entry: Entry, value: Scalar) -> str:
        return splice(text, entry.start, entry.end, _written(value))

    def add(self, text: str, key: str, value: Scalar, beside: tuple[Entry, ...]) -> str:
        *path, name = key.split(".")
        same = [entry for entry in beside if path and entry.key.split(".")[-len(path) - 1 : -1] == path]
        if not same and not path:
            same = list(beside)
        if not same:
            section = ".".join(path)
            raise AdapterError(
                f"no place found for {key}: its section {section} is not written in this file",
                f"没有可放 {key} 的位置：此文件没有写出 {section} 一节",
            )
        anchor = same[-1]
        target = text[anchor.first : anchor.start]
        if "." in target.split("=")[0]:
            prefix = target.split("=")[0].rstrip().rpartition(".")[0]
            end = line_end(text, anchor.last)
            line = f"{line_break(text)}{indent_of(text, anchor.first)}{prefix}.{name} = {_written(value)}"
            return splice(text, end, end, line)
        if not begins_line(text, anchor.first):
            return splice(text, anchor.last, anchor.last, f", {name}={_written(value)}")
        piece = f"{line_break(text)}{indent_of(text, anchor.first)}{name}={_written(value)},"
        comma = re.match(r"[ \t]*,", text[anchor.last :])
        if not comma:
            return splice(text, anchor.last, anchor.last, "," + piece)
        rest = text[anchor.last + comma.end() : line_end(text, anchor.last)]
        at = anchor.last + comma.end() + (len(rest) if re.fullmatch(r"\s*(#.*)?", rest) else 0)
        return splice(text, at, at, piece)

    def remove(self, text: str, entry: Entry) -> str:
        after = re.match(r"[ \t]*,", text[entry.last :])
        last = entry.last + (after.end() if after else 0)
        if begins_line(text, entry.first) and not text[last : line_end(text, last)].split("#")[0].strip():
            return without_line(text, entry.first, last)
        before = re.search(r",\s*$", text[: entry.first])
        if after:
            blank = re.match(r" ?", text[last:])
            return splice(text, entry.first, last + (blank.end() if blank else 0), "")
        return splice(text, before.start() if before else entry.first, entry.last, "")


class _Places:
    """Turns ast's lines and UTF-8 columns into offsets."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        text = self.lines[line - 1]
        inside = column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))
        return self.starts[line - 1] + inside

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)


def _statements(body: list[ast.stmt], places: _Places, group: str) -> Iterator[Entry]:
    """Entries of statements; those of an inner function belong to it, those of if and with to what is around them."""
    waiting = [(statement, group) for statement in reversed(body)]
    while waiting:
        statement, name = waiting.pop()
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{name}.{statement.name}" if name else statement.name
            waiting.extend((inner, inside) for inner in reversed(statement.body))
            continue
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if key := _dotted(target):
                    yield from _value(key, statement.value, places.span(target)[0], places, name, 0)
        elif isinstance(statement, ast.Return | ast.Expr) and statement.value is not None:
            yield from _value("", statement.value, -1, places, name, 0)
        for part in ("body", "orelse", "finalbody"):
            waiting.extend((inner, name) for inner in reversed(getattr(statement, part, [])))


def _value(key: str, node: ast.expr, first: int, places: _Places, group: str, depth: int) -> Iterator[Entry]:
    if depth > DEEPEST:
        return
    if isinstance(node, ast.Call):
        own = key.rsplit(".", 1)[-1] if "." in key or depth else ""
        path = key if own else _section(node.func)
        for keyword in node.keywords:
            if keyword.arg:
                inner = f"{path}.{keyword.arg}" if path else keyword.arg
                yield from _value(inner, keyword.value, places.span(keyword)[0], places, group, depth + 1)
    if first >= 0:
        start, end = places.span(node)
        whole = places.starts
        text = "\n".join(places.lines[node.lineno - 1 : node.end_lineno])
        offset = whole[node.lineno - 1]
        word = text[start - offset : end - offset]
        yield Entry(key, word.strip("'\""), node.lineno, start, end, first, end, group)


def _section(function: ast.expr) -> str:
    """`parallelism` for ParallelismConfig(...): the section that the class describes."""
    name = (_dotted(function) or "").rsplit(".", 1)[-1]
    return SECTION_OF_CLASS.sub("", name).lower()


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or len(parts) > DEEPEST:
        return ""
    return ".".join([node.id, *reversed(parts)])


def _written(value: Scalar) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{word}"' for word in value) + "]"
    if isinstance(value, str):
        return value if isinstance(value, Code) else '"' + value.replace('"', '\\"') + '"'
    return repr(int(value)) if isinstance(value, float) and value == int(value) else repr(value)
