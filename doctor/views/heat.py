"""Draws the loads of experts as text: a row a layer, a cell an expert, shaded by tokens over the mean."""

from __future__ import annotations

from rich.text import Text

from doctor.messages import say
from doctor.session.heat import Heat, folded
from doctor.views.page import Page
from doctor.views.safe import visible

MOST_ROWS, LABEL, EDGE = 24, 10, 3
SHADES = ((0.01, "✗", "bold red"), (0.5, "·", "dim"), (0.8, "░", ""), (1.25, "▒", ""), (2.0, "▓", "yellow"))
HOTTEST = ("█", "bold red")
"""Below each bound its mark: dead, far below, below, about even, above; and twice the mean or more."""


def draw_heat(page: Page, heat: Heat, lang: str, everything: bool = False) -> None:
    """Writes the picture on `page`; layers and experts are folded unless all are asked for."""
    rows = len(heat.rows) if everything else MOST_ROWS
    shown = folded(heat, max(rows, 1), max(page.width - LABEL - EDGE, 8))
    page.blank()
    page.wrapped(say(lang, "picture.experts"), style="dim")
    for row in shown.rows:
        name = row.layers[0] if len(row.layers) == 1 else f"{row.layers[0]}-{row.layers[-1]}"
        line = Text(f"  {visible(name)[-LABEL:]:>{LABEL}} ")
        for load in row.loads:
            mark, style = _shade(load)
            line.append(mark, style)
        page.row(line)
    page.wrapped(say(lang, "picture.experts_legend", experts=shown.experts), indent=2, style="dim")


def _shade(load: float) -> tuple[str, str]:
    return next(((mark, style) for bound, mark, style in SHADES if load < bound), HOTTEST)
