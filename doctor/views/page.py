"""A page of text: lines that wrap with a hanging indent, and lines that must never be wrapped."""

from __future__ import annotations

import os
import shutil
from typing import IO

from rich.console import Console
from rich.text import Text

from doctor.views.safe import visible

NARROWEST, WIDEST, UNKNOWN = 40, 110, 100
"""Columns: fewer are not worth wrapping for, more are hard to read, and what a file or pipe gets."""


class Page:
    """Lines collected in order, then printed at once. Only this class writes to the terminal, and only safe text."""

    def __init__(self, width: int | None = None, narrowest: int = NARROWEST) -> None:
        columns = shutil.get_terminal_size((UNKNOWN, 24)).columns
        self.width = max(narrowest, min(width or columns, WIDEST))
        self._lines: list[Text] = []

    def blank(self) -> None:
        if self._lines and self._lines[-1].plain:
            self._lines.append(Text())

    def wrapped(self, text: str | Text, indent: int = 0, hang: int = 0, style: str = "") -> None:
        """A paragraph at `indent` columns; its further lines stand `hang` columns deeper."""
        whole = text if isinstance(text, Text) else Text(visible(text), style)
        room = max(self.width - indent - hang, 20)
        first, rest = _split(whole, room + hang)
        self._lines.append(Text(" " * indent) + first)
        if rest is not None:
            for line in _wrap(rest, room):
                self._lines.append(Text(" " * (indent + hang)) + line)

    def beside(self, head: str, text: str | Text, column: int, indent: int = 2, style: str = "") -> None:
        """`head`, and `text` beside it from `column` on; all further lines stand below the text."""
        whole = text if isinstance(text, Text) else Text(visible(text), style)
        label = Text(" " * indent) + Text(visible(head), "dim")
        label.pad_right(max(column - label.cell_len, 1))
        for line in _wrap(whole, max(self.width - max(column, label.cell_len), 20)):
            self._lines.append(label + line)
            label = Text(" " * column)

    def raw(self, line: str, indent: int = 0) -> None:
        """A line that stays whole, however long it is: a command is copied, not read."""
        self._lines.append(Text(" " * indent) + Text(visible(line), "bold"))

    def row(self, line: Text) -> None:
        """A line of a table, which stays whole; its texts must be safe to show."""
        self._lines.append(line)

    def lines(self) -> list[Text]:
        """What was written so far."""
        return list(self._lines)

    def print(self, file: IO[str], color: bool = True) -> None:
        dumb = not color or bool(os.environ.get("NO_COLOR"))
        console = Console(file=file, no_color=dumb, color_system=None if dumb else "auto", highlight=False, emoji=False)
        for line in self._lines:
            console.print(line, soft_wrap=True, crop=False)


def _wrap(text: Text, room: int) -> list[Text]:
    lines: list[Text] = []
    rest: Text | None = text
    while rest is not None:
        line, rest = _split(rest, room)
        lines.append(line)
    return lines


def _split(text: Text, room: int) -> tuple[Text, Text | None]:
    """The part of `text` that fits into `room` cells, and what is left of it.

    Lines break at spaces, and beside East Asian characters, which have no spaces between words.
    """
    if text.cell_len <= room:
        return text, None
    plain = text.plain
    cells, fits = 0, 0
    for fits, char in enumerate(plain):  # noqa: B007
        cells += Text(char).cell_len
        if cells > room:
            break
    cut = next((at for at in range(fits, 0, -1) if _may_break(plain, at)), fits)
    if cut < fits // 2:
        cut = fits
    rest = text[cut:]
    skip = len(rest.plain) - len(rest.plain.lstrip(" "))
    rest = rest[skip:]
    line = text[:cut]
    line.rstrip()
    return line, rest if rest.plain else None


def _may_break(plain: str, at: int) -> bool:
    before, after = plain[at - 1], plain[at]
    if after == " " or before == " ":
        return True
    # Closing punctuation must not begin a line.
    return (
        (before > "\u2e80" or after > "\u2e80")
        and after not in "，。；：！？、）】》」』…"
        and before not in "（【《「『"
    )
