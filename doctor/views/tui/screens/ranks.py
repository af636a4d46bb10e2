"""All ranks at one look."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from doctor.messages import say
from doctor.session.rank_map import rank_map_of
from doctor.session.report import Report
from doctor.views.page import Page
from doctor.views.rank_map import draw_ranks
from doctor.views.tui.widgets.page_view import PageView


class RanksScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,m,q,b,enter", "dismiss", show=False)]
    DEFAULT_CSS = """
    RanksScreen { align: center middle; }
    RanksScreen > Vertical { width: 95%; height: 90%; padding: 0 1; border: round $primary; background: $surface; }
    """

    def __init__(self, lang: str, report: Report) -> None:
        super().__init__()
        self.lang, self.report = lang, report

    def compose(self) -> ComposeResult:
        with Vertical():
            yield PageView(self._page)
            yield Static(say(self.lang, "tui.help.close"))

    def _page(self, page: Page) -> None:
        ranks = rank_map_of(self.report)
        if ranks is None:
            page.wrapped(say(self.lang, "tui.ranks.none"))
        else:
            draw_ranks(page, ranks, self.lang, everything=True)
