"""The keys of a step, and what one does there."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from doctor.messages import say
from doctor.views.page import Page
from doctor.views.tui.widgets.page_view import PageView

KEYS = (
    ("n", "next"), ("b esc", "back"), ("1 … 7", "steps"), ("↑↓ j k g G", "move"), ("tab", "pane"), ("enter", "open"),
    ("space", "take"), ("/", "filter"), ("w", "why"), ("[ ]", "findings"), ("a", "add"), ("r", "again"), ("u", "undo"),
    ("y", "copy"), ("m", "ranks"), ("z", "zoom"), ("F2", "language"), ("F3", "theme"), ("ctrl+p", "palette"),
    ("q", "quit"),
)  # fmt: skip
COLUMN = 14


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,b,enter", "dismiss", show=False)]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Vertical {
        width: 76; max-width: 100%; height: 22; max-height: 100%; padding: 0 1;
        border: round $primary; background: $surface;
    }
    """

    def __init__(self, lang: str, step: str) -> None:
        super().__init__()
        self.lang, self.step = lang, step

    def compose(self) -> ComposeResult:
        with Vertical():
            yield PageView(self._page)
            yield Static(say(self.lang, "tui.help.close"))

    def _page(self, page: Page) -> None:
        page.wrapped(say(self.lang, f"tui.help.{self.step}"))
        page.blank()
        for keys, name in KEYS:
            page.beside(keys, say(self.lang, f"tui.help.key.{name}"), COLUMN)
