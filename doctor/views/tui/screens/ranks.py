"""All ranks at one look."""

from __future__ import annotations

from doctor.messages import say
from doctor.session.rank_map import rank_map_of
from doctor.session.report import Report
from doctor.views.page import Page
from doctor.views.rank_map import draw_ranks
from doctor.views.tui.screens.reading import ReadingScreen


class RanksScreen(ReadingScreen):
    DEFAULT_CSS = """
    RanksScreen { background: $surface; }
    RanksScreen > Vertical { width: 100%; height: 100%; }
    """  # the screen below shows through nowhere, so that it is not drawn again

    def __init__(self, lang: str, report: Report) -> None:
        super().__init__(lang, self._ranks)
        self.report = report

    def _ranks(self, page: Page) -> None:
        ranks = rank_map_of(self.report)
        if ranks is None:
            page.wrapped(say(self.lang, "tui.ranks.none"))
        else:
            draw_ranks(page, ranks, self.lang, everything=True)
