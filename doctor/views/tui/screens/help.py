"""The keys of a step, and what one does there."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from doctor.messages import say
from doctor.views.page import Page
from doctor.views.tui.screens.reading import ReadingScreen

if TYPE_CHECKING:
    from doctor.views.tui.app import PdoctorApp

HERE = {
    "collect": (("a", "add"), ("r", "again"), ("s", "skip")),
    "findings": (("enter", "open"), ("/", "filter")),
    "finding": (
        ("space", "take"), ("enter", "log"), ("← →", "sideways"), ("w", "why"), ("y", "copy"), ("[ ]", "findings"),
    ),
    "question": (("enter", "answer"), ("a", "add"), ("u", "undo")),
    "plan": (("space", "take"), ("f", "layout"), ("e", "edit")),
    "change": (("w", "write"), ("y", "copy")),
    "export": (("enter", "export"),),
}  # fmt: skip
"""What keys do on one step alone."""
WATCHED = {"findings": ((".", "newest"), ("t", "told"))}
"""And where a job is watched."""
EVERYWHERE = (
    ("n", "next"), ("b esc", "back"), ("1 … 7", "steps"), ("↑↓ j k g G", "move"), ("tab", "pane"), ("z", "zoom"),
    ("m", "ranks"), ("F2", "language"), ("F3", "theme"), ("ctrl+p", "palette"), ("q ctrl+c", "quit"),
)  # fmt: skip
COLUMN = 14


class HelpScreen(ReadingScreen):
    DEFAULT_CSS = """
    HelpScreen > Vertical { width: 76; max-width: 100%; height: 24; max-height: 100%; }
    """

    def __init__(self, lang: str, step: str) -> None:
        super().__init__(lang, self._keys)
        self.step = step

    def _keys(self, page: Page) -> None:
        page.wrapped(say(self.lang, f"tui.help.{self.step}"))
        page.blank()
        watched = WATCHED.get(self.step, ()) if cast("PdoctorApp", self.app).watching else ()
        for keys, name in (*HERE[self.step], *watched):
            page.beside(keys, say(self.lang, f"tui.help.key.{name}"), COLUMN)
        page.blank()
        for keys, name in EVERYWHERE:
            page.beside(keys, say(self.lang, f"tui.help.key.{name}"), COLUMN)
