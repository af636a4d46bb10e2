"""A list of rows with a cursor, of any length: a row is composed when it comes into view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from doctor.views.tui.widgets.strips import strip_of


@dataclass(frozen=True, slots=True)
class Row:
    """`key` says what the row stands for, empty for a heading that cannot be chosen; `text` composes it for a width,
    `words` is what a filter looks in."""

    key: str
    text: Callable[[int], Text]
    words: str = ""


def plain(key: str, text: str | Text) -> Row:
    """A row of a fixed text."""
    line = text if isinstance(text, Text) else Text(text)
    return Row(key, lambda _: line, line.plain)


class Rows(ScrollView, can_focus=True):
    """Arrows or j and k move, a click opens; what enter and space do is the screen's own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home,g", "end(-1)", show=False),
        Binding("end,G", "end(1)", show=False),
        Binding("l,right", "choose", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--blurred"}
    DEFAULT_CSS = """
    Rows { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; border-left: blank; }
    Rows:focus { border-left: outer $primary !important; }
    Rows > .rows--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    Rows > .rows--blurred { background: $primary 25%; }
    Rows:ansi > .rows--blurred { background: ansi_default; text-style: underline; }
    """

    cursor: reactive[int] = reactive(0)

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: Rows, key: str) -> None:
            super().__init__()
            self.rows, self.key = rows, key

        @property
        def control(self) -> Rows:
            return self.rows

    class Chosen(Moved):
        """A row was opened."""

    class Marked(Moved):
        """A row was marked, or its mark taken away."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.by_hand = False
        """Has a person chosen where the cursor stands?"""
        self._all: Sequence[Row] = ()
        self._seen: Sequence[Row] = ()
        self._filter = ""

    @property
    def rows(self) -> Sequence[Row]:
        """The rows that the filter lets through."""
        return self._seen

    @property
    def wanted(self) -> str:
        """What rows must hold to be seen; empty while all are."""
        return self._filter

    @property
    def key(self) -> str:
        """What the cursor stands on; empty where there is nothing."""
        return self._seen[self.cursor].key if self.cursor < len(self._seen) else ""

    def show(self, rows: Sequence[Row]) -> None:
        """Shows other rows. A cursor that was moved stays on its key where there is one, and in a list that was
        scrolled at its place on the screen; else it stands on the first row that can be chosen."""
        top = int(self.scroll_offset.y)
        before, line = self.key if self.by_hand or top else "", self.cursor - top
        self._all = rows
        self._look(before, line if top else None)

    def go_to(self, key: str) -> None:
        """Moves the cursor to the row that stands for `key`, where it is seen."""
        self.by_hand = True
        self.cursor = next((at for at, row in enumerate(self._seen) if row.key == key), self.cursor)

    def look_for(self, words: str) -> None:
        """Leaves only rows that hold `words`, whatever their case."""
        before, self._filter = self.key, words.casefold()
        self._look(before)

    def _look(self, before: str, line: int | None = None) -> None:
        wanted = self._filter
        self._seen = [row for row in self._all if wanted in row.words.casefold()] if wanted else self._all
        places = (at for at, row in enumerate(self._seen) if row.key == before and before)
        first = next((at for at, row in enumerate(self._seen) if row.key), 0)
        self.virtual_size = Size(self.size.width, len(self._seen))
        self.set_reactive(Rows.cursor, next(places, first))
        if line is not None and before and self.key == before:
            self.scroll_to(y=self.cursor - line, animate=False)
        else:
            self._follow()
        self.refresh()
        self.post_message(self.Moved(self, self.key))

    def watch_cursor(self) -> None:
        self._follow()
        self.refresh()
        self.post_message(self.Moved(self, self.key))

    def _follow(self) -> None:
        """Keeps the cursor in sight, and the heading above it where there is room for both."""
        above = self.cursor > 0 and not self._seen[self.cursor - 1].key and self.size.height > 1
        self.scroll_to_region(Region(0, self.cursor - above, 1, 1 + above), animate=False, x_axis=False)

    def on_resize(self, event: events.Resize) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._seen))
        self._follow()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _step(self, at: int, by: int) -> int:
        """The next row that can be chosen, from `at` on; where there is none the cursor stays."""
        while 0 <= at < len(self._seen):
            if self._seen[at].key:
                return at
            at += by
        return self.cursor

    def action_move(self, by: int) -> None:
        self.by_hand = True
        self.cursor = self._step(self.cursor + by, by)

    def action_page(self, by: int) -> None:
        self.by_hand = True
        tall = max(self.size.height - 1, 1)
        at = min(max(self.cursor + by * tall, 0), max(len(self._seen) - 1, 0))
        found = self._step(at, by)
        self.cursor = found if found != self.cursor else self._step(at, -by)

    def action_end(self, by: int) -> None:
        self.by_hand = True
        self.cursor = self._step(0 if by < 0 else len(self._seen) - 1, -by)

    def action_choose(self) -> None:
        if self.key:
            self.post_message(self.Chosen(self, self.key))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        number = at.y + self.scroll_offset.y
        if number >= len(self._seen) or not self._seen[number].key:
            return
        self.by_hand = True
        again = number == self.cursor
        self.cursor = number
        self.clicked(self._seen[number].key, again or event.chain > 1)

    def clicked(self, key: str, again: bool) -> None:
        """A click chooses; lists in which a click marks say so themselves."""
        self.post_message(self.Chosen(self, key))

    def render_line(self, y: int) -> Strip:
        width, number = self.scrollable_content_region.width, y + self.scroll_offset.y
        if number >= len(self._seen):
            return Strip.blank(width, self.rich_style)
        row, style = self._seen[number], self.rich_style
        text = row.text(max(width, 1))
        if number == self.cursor and row.key:
            name = "rows--cursor" if self.has_focus else "rows--blurred"
            style = style + self.get_component_rich_style(name)
            if self.has_focus:  # colours of words would not be readable on the cursor's
                text = Text(text.plain, Style(bold=True))
        return strip_of(text, self.app.console, 0, width, style)
