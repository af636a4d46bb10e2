"""One exception for everything that can be wrong with a rule file: it says where, what, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RuleError(Exception):
    """A mistake in a rule file, with its place. `line` and `column` count from 1; 0 means unknown."""

    def __init__(self, message: str, path: str = "", line: int = 0, column: int = 0) -> None:
        self.message, self.path, self.line, self.column = message, path, line, column
        super().__init__(str(self))

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part)
        return f"{place}: {self.message}" if place else self.message

    def at(self, path: str, line: int = 0, column: int = 0) -> RuleError:
        """The same mistake with its place, as far as it was not known yet."""
        return RuleError(self.message, self.path or path, self.line or line, self.column or column)


def nearest(name: str, known: Iterable[str]) -> str:
    """What is closest to `name` of what is known; "" where nothing is."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), "")


def suggestion(name: str, known: Iterable[str]) -> str:
    """`, did you mean X?` when something close to `name` is known, else nothing."""
    close = nearest(name, known)
    return f", did you mean {close}?" if close else ""
