"""A YAML document with typed access: a wrong type or an unknown key names its place and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from doctor.rulebase.errors import RuleError, suggestion
from doctor.rulebase.model import Text

_BETWEEN_CHINESE = re.compile(
    r"(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])"
    r"|(?<=[，。；：、！？）」]) | (?=[，。；：、！？（「])"
)
"""Blanks that Chinese does without: between its characters, and beside its marks, which have room of their own."""

MAX_BYTES = 1 << 20
Keys = tuple[str | int, ...]


class MisplacedError(Exception):
    """A mistake at a key path inside a document; the loader turns it into a RuleError with line and column."""

    def __init__(self, message: str, keys: Keys, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.keys, self.column = message, keys, column


class Node:
    """A mapping inside a document, with the key path that leads to it."""

    def __init__(self, data: Any, keys: Keys = (), known: Iterable[str] | None = None) -> None:
        self.keys = keys
        if not isinstance(data, Mapping):
            where = ".".join(map(str, keys)) or "the document"
            raise MisplacedError(f"{where} must be a mapping, it is {_kind(data)}", keys)
        self.data: Mapping[str, Any] = data
        allowed = set(known) if known is not None else None
        for key in data:
            if allowed is not None and key not in allowed:
                raise MisplacedError(f"unknown key {key}{suggestion(str(key), allowed)}", (*keys, key))

    def fail(self, key: str, message: str, column: int = 0) -> MisplacedError:
        return MisplacedError(message, (*self.keys, key), column)

    def has(self, key: str) -> bool:
        return self.data.get(key) is not None

    def string(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if value is None:
            raise MisplacedError(f"{key} is missing", self.keys)
        if not isinstance(value, str):
            raise self.fail(key, f"{key} must be a text, it is {_kind(value)}; put it in quotes")
        return value

    def integer(self, key: str, default: int) -> int:
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(key, f"{key} must be a whole number, it is {_kind(value)}")
        return value

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(key, f"{key} must be true or false, it is {value!r}")
        return value

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        value, allowed = self.string(key, default), list(known)
        if value not in allowed:
            raise self.fail(key, f"{key} is {value!r}{suggestion(value, allowed)}; allowed are {', '.join(allowed)}")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key) or []
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise self.fail(key, f"{key} must be a list of texts")
        return tuple(items)

    def text(self, key: str, required: bool = True) -> Text | None:
        """A text in both languages: {en: ..., zh: ...}."""
        if not self.has(key):
            if required:
                raise MisplacedError(f"{key} is missing", self.keys)
            return None
        node = Node(self.data[key], (*self.keys, key), ("en", "zh"))
        return Text(*(_on_one_line(node.string(lang, default)) for lang, default in (("en", None), ("zh", ""))))

    def need_text(self, key: str) -> Text:
        text = self.text(key)
        assert text is not None
        return text

    def either(self, key: str) -> Text:
        """A text in both languages, or one that serves for both since it holds no words."""
        return Text(self.string(key)) if isinstance(self.data.get(key), str) else self.need_text(key)

    def node(self, key: str, known: Iterable[str] | None = None) -> Node:
        return Node(self.data.get(key) or {}, (*self.keys, key), known)

    def items(self, key: str, known: Iterable[str] | None = None) -> Iterator[Node]:
        """The mappings in the list `key`."""
        value = self.data.get(key) or []
        if not isinstance(value, list | tuple):
            raise self.fail(key, f"{key} must be a list, it is {_kind(value)}")
        for index, item in enumerate(value):
            yield Node(item, (*self.keys, key, index), known)


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", int: "a number", bool: "true/false", type(None): "empty"}
    return names.get(type(value), type(value).__name__)


def load_yaml(path: Path, shown: str) -> Any:
    """The data of a YAML file, read fast and without positions; raises RuleError."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # to open it could block, or never end
            raise RuleError("cannot be read: a pipe, socket or device", shown)
        raw = path.read_bytes()
    except OSError as error:
        raise RuleError(f"cannot be read: {error.strerror}", shown) from None
    if len(raw) > MAX_BYTES:
        raise RuleError(f"{len(raw)} bytes; a rule file has at most {MAX_BYTES}", shown)
    try:
        return YAML(typ="safe", pure=True).load(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RuleError(f"not UTF-8 at byte {error.start}", shown) from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise RuleError(f"not valid YAML: {problem}", shown, line, column) from None
    except (ValueError, RecursionError) as error:
        raise RuleError(f"not valid YAML: {error}", shown) from None


def locate(path: Path, keys: Keys) -> tuple[int, int]:
    """Line and column of the value at `keys` in a YAML file, both from 1; (0, 0) when it cannot be told."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        node: Any = YAML().load(path.read_text("utf-8"))
    except (YAMLError, OSError, ValueError):
        return 0, 0
    place = (0, 0)
    for key in keys:
        marks = getattr(node, "lc", None)
        try:
            line, column = marks.value(key) if isinstance(node, dict) else marks.item(key)  # type: ignore[union-attr]
            place = (line + 1, column + 1)
            node = node[key]
        except (KeyError, IndexError, TypeError, AttributeError):
            break
    return place


def _on_one_line(text: str) -> str:
    """The text as it is read on; where its lines were joined, no blank is left between Chinese characters."""
    return _BETWEEN_CHINESE.sub("", " ".join(text.split()))
