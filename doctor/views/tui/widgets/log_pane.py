"""A log, open at a line: nothing in it can leave the pane, and only what is seen is read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from rich.cells import chop_cells
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from doctor.session.log_window import LogWindow
from doctor.views.safe import visible
from doctor.views.tui.widgets.strips import strip_of

ABOVE = 3
"""Lines shown above the one it opens at."""

CHANGED = "changed"
"""Why a file is not shown that does not reach to the line any more."""
NUMBERS, MARGIN = 8, 2
LONGEST = 8
"""Rows that the marked line may take: what it says is what one came for."""
WIDEST = 4096


class LogPane(ScrollView, can_focus=True):
    """Lines of one file with their numbers; the line of evidence is marked and coloured."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("h", "scroll_left", show=False),
        Binding("l", "scroll_right", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G,end", "last", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"log--number", "log--marked"}
    DEFAULT_CSS = """
    LogPane { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; border-left: blank; }
    LogPane:focus { border-left: outer $primary !important; }
    LogPane > .log--number { color: $text-muted; }
    LogPane > .log--marked { background: $warning 30%; text-style: bold; }
    LogPane:ansi > .log--marked { background: ansi_default; color: ansi_default; text-style: bold reverse; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._window: LogWindow | None = None
        self._texts: Sequence[str] = ()
        self._lines: Sequence[str] = ()
        self._marked = 0
        self._known = 0
        self._read: tuple[int, Sequence[str]] = (0, ())
        self._pieces: Sequence[str] = ()
        self._put: int | None = None

    @property
    def marked(self) -> int:
        """The number of the marked line, 0 for none."""
        return self._marked

    def open(self, path: str, line: int) -> str:
        """Opens a file at a line; gives why it cannot be read, or nothing."""
        try:
            if self._window is None or str(self._window.path) != path:
                window = LogWindow(Path(path))
                self.close()
                self._window = window
            if not self._window.lines(line, 1):
                self.close()
                return CHANGED
            self._marked = line
            self._extend(line + max(self.size.height, 1))
        except OSError as error:
            self.close()
            return error.strerror or str(error)
        self._texts = self._lines = ()
        self._wrap()
        self._put = None
        # The room that was made counts once the widget is laid out anew.
        self.call_after_refresh(self._to_marked)
        self.refresh()
        return ""

    def _to_marked(self) -> None:
        """Shows the marked line whole, and what stands before it as there is room."""
        above = max(min(ABOVE, self.size.height - len(self._pieces)), 0)
        self._put = max(self._marked - 1 - above, 0)
        self.scroll_to(0, self._put, animate=False)

    def show(self, texts: Sequence[str]) -> None:
        """Shows lines that are at hand, whole, where there is no file to open."""
        self.close()
        self._texts, self._marked = texts, 0
        self._wrap()
        self.scroll_to(0, 0, animate=False)
        self.refresh()

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
        self._window, self._known, self._read, self._pieces = None, 0, (0, ()), ()

    def on_unmount(self) -> None:
        self.close()

    def on_resize(self, event: events.Resize) -> None:
        self._wrap()
        self._extend(self.scroll_offset.y + self.size.height)
        if self._window is not None and self._put in (None, self.scroll_offset.y):  # nobody has moved it since
            self.call_after_refresh(self._to_marked)

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        self._extend(int(new) + 2 * self.size.height)

    def action_last(self) -> None:
        if self._window is not None:
            with suppress(OSError):
                self._size_for(self._window.count_all())
        self.scroll_end(animate=False)

    def _wrap(self) -> None:
        """Breaks the marked line into as many rows as it needs, up to LONGEST; and lines that are at hand."""
        room = self.scrollable_content_region.width - NUMBERS
        if room < 1:
            return
        if self._window is None:
            self._lines = [row for text in self._texts for row in chop_cells(visible(text), room + NUMBERS - MARGIN)]
            self.virtual_size = Size(self.scrollable_content_region.width, len(self._lines))
            return
        found = self._read_lines(self._window, self._marked, 1)
        pieces = chop_cells(visible(found[0]), room) if found else []
        most = max(min(LONGEST, self.size.height - ABOVE), 1)
        if len(pieces) > most:
            pieces = [*pieces[: most - 1], pieces[most - 1] + "…"]  # too wide by one: the strip ends it
        self._pieces = pieces
        self._size_for(self._known, anew=True)

    def _line(self, window: LogWindow, number: int) -> str | None:
        """One line; those around it are read with it, since they are asked for next."""
        first, lines = self._read
        if not first <= number < first + len(lines):
            first = max(number - self.size.height, 1)
            lines = self._read_lines(window, first, 3 * self.size.height)
            self._read = first, lines
        return lines[number - first] if number - first < len(lines) else None

    def _read_lines(self, window: LogWindow, first: int, count: int) -> list[str]:
        """Lines of the file; none where it cannot be read any more, as when a network drive has gone."""
        with suppress(OSError):
            return window.lines(first, count)
        return []

    def _extend(self, line: int) -> None:
        """Makes room for lines up to `line`, and for more where the file has more."""
        if self._window is None:
            return
        self._read_lines(self._window, line, 1)
        known, ended = self._window.known_lines()
        self._size_for(known if ended else max(known, line + self.size.height))

    def _size_for(self, lines: int, anew: bool = False) -> None:
        if anew or lines != self._known:
            self._known = lines
            self.virtual_size = Size(WIDEST, lines + max(len(self._pieces) - 1, 0))

    def _place(self, row: int) -> tuple[int, int]:
        """The line that a row shows, and which of its pieces; both from 0."""
        first, more = self._marked - 1, len(self._pieces) - 1
        if more < 1 or row < first:
            return row, 0
        return (first, row - first) if row <= first + more else (row - more, 0)

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        at, piece = self._place(top + y)
        width, number = self.scrollable_content_region.width, at + 1
        if self._window is not None:
            text = self._line(self._window, number)
        else:
            text = self._lines[number - 1] if number <= len(self._lines) else None
            number = 0
        if text is None:
            return Strip.blank(width, self.rich_style)
        marked = bool(number) and number == self._marked
        style = self.rich_style + (self.get_component_rich_style("log--marked") if marked else self.rich_style)
        label = Text(f"{'▶' if marked else ' '}{number:>{NUMBERS - 2}} " if number else " " * MARGIN)
        if marked and len(self._pieces) > 1:
            text, left = self._pieces[piece], 0
            label = label if not piece else Text(" " * NUMBERS)
        label.stylize(self.get_component_rich_style("log--number"))
        body = strip_of(Text(visible(text)), self.app.console, left, max(width - label.cell_len, 0), style)
        return Strip.join([strip_of(label, self.app.console, 0, label.cell_len, style), body])
