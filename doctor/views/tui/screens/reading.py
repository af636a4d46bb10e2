"""A page to read, over the screen that it belongs to."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from doctor.messages import say
from doctor.views.tui.widgets.page_view import Compose, PageView


class ReadingScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,m,q,b,enter,question_mark", "dismiss", show=False)]
    DEFAULT_CSS = """
    ReadingScreen { align: center middle; }
    ReadingScreen > Vertical { width: 95%; height: 90%; padding: 0 1; border: round $primary; background: $surface; }
    ReadingScreen PageView:focus { border-left: blank !important; }
    """

    def __init__(self, lang: str, compose: Compose) -> None:
        super().__init__()
        self.lang, self.page = lang, compose

    def compose(self) -> ComposeResult:
        with Vertical():
            yield PageView(self.page)
            yield Static(say(self.lang, "tui.help.close"))
