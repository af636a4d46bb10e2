"""A page of the report that scrolls: composed anew for each width, drawn a line at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from doctor.views.page import Page
from doctor.views.tui.widgets.strips import strip_of

Compose = Callable[[Page], None]


class PageView(ScrollView, can_focus=True):
    """Shows what `compose` writes on a page as wide as the widget."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    DEFAULT_CSS = """
    PageView { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; border-left: blank; }
    PageView:focus { border-left: outer $primary !important; }
    """

    def __init__(self, compose: Compose | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._compose_page = compose
        self._shown: list[Text] = []
        self._wide = 0

    @property
    def lines(self) -> list[str]:
        """What it shows, as plain text."""
        return [line.plain for line in self._shown]

    def show(self, compose: Compose) -> None:
        """Shows another page, from its beginning."""
        self._compose_page = compose
        self._redo()
        self.scroll_home(animate=False)

    def again(self) -> None:
        """Composes the same page anew, where it stands."""
        self._redo()

    def on_resize(self, event: events.Resize) -> None:
        if self.scrollable_content_region.width != self._wide:
            self._redo()

    def _redo(self) -> None:
        width = self.scrollable_content_region.width
        if self._compose_page is None or width <= 0:
            return
        self._wide = width
        page = Page(width - 1, narrowest=20)
        self._compose_page(page)
        self._shown = page.lines()
        self.virtual_size = Size(max([width - 1, *(line.cell_len for line in self._shown)]), len(self._shown))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        number = y + top
        text = self._shown[number] if number < len(self._shown) else Text()
        return strip_of(text, self.app.console, left, self.scrollable_content_region.width, self.rich_style)
