"""What adapters read and give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Scalar: TypeAlias = bool | int | float | str | tuple[str, ...]
# A framework's own settings by their names there: a switch that is on is True, one to take away None.
Own: TypeAlias = Mapping[str, "Scalar | None"]
# Neutral settings by the names of doctor.planner.knobs, and `env.NAME` for variables; None takes a variable away.
Changes: TypeAlias = Mapping[str, Any]


class Code(str):
    """A value that is an expression in the file's own language."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting in a file.

    `key` is dotted; `value` is its text without quotes, variables followed. [start, end) is what a new value
    overwrites: the place where the value is defined. [first, last) is the whole setting with its key, where it is used.
    `group` tells which command, mapping or function it belongs to. `remark` warns (English, Chinese) of what editing
    it means.
    """

    key: str
    value: str
    line: int
    start: int
    end: int
    first: int
    last: int
    group: str = ""
    remark: tuple[str, str] | None = None


class Syntax(Protocol):
    """A file format whose settings can be changed in place, the rest of the text left as it is.

    `add` puts a new setting next to the last one of `beside`. All raise AdapterError.
    """

    def __hash__(self) -> int: ...

    def entries(self, text: str) -> tuple[Entry, ...]: ...

    def replace(self, text: str, entry: Entry, value: Scalar) -> str: ...

    def add(self, text: str, key: str, value: Scalar, beside: tuple[Entry, ...]) -> str: ...

    def remove(self, text: str, entry: Entry) -> str: ...


@dataclass(frozen=True, slots=True)
class Found:
    """A neutral setting that a file states: its value, the framework's name for it, the line."""

    value: Any
    key: str
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """What the reader of a change must know about one setting. `written` is False where the file does not have it."""

    knob: str
    en: str
    zh: str
    written: bool = True


@dataclass(frozen=True, slots=True)
class Rendered:
    """The file's text after a change."""

    text: str
    notes: tuple[Note, ...] = ()

    @property
    def left(self) -> tuple[Note, ...]:
        """What could not be written."""
        return tuple(note for note in self.notes if not note.written)


class Adapter(Protocol):
    """One framework. `known` is what is known of the job now, by neutral names (`dp` above all)."""

    @property
    def name(self) -> str: ...

    def recognises(self, path: str, text: str) -> bool: ...

    def read(self, text: str, path: str = "") -> Mapping[str, Found]: ...

    def render(
        self, text: str, changes: Changes, known: Mapping[str, Any] | None = None, path: str = ""
    ) -> Rendered: ...

    def write(self, text: str, own: Own, known: Mapping[str, Any] | None = None, path: str = "") -> Rendered: ...
