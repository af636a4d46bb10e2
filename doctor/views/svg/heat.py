"""The loads of experts as SVG: a row a layer, a cell an expert, shaded and marked by tokens over the mean."""

from __future__ import annotations

from doctor.session.heat import Row
from doctor.views.markup import Markup, el

HEIGHT = 16
SHADES = ((0.01, "h0", "×"), (0.5, "h1", "‥"), (0.8, "h2", "–"), (1.25, "h3", ""), (2.0, "h4", "+"))
"""Below each bound its class and mark: dead, far below, below, about even, above."""
HOTTEST = ("h5", "#")
MARKED = 48
"""Cells of a row up to which each has room for its mark."""


def shade(load: float) -> tuple[str, str]:
    return next(((name, mark) for bound, name, mark in SHADES if load < bound), HOTTEST)


def row(loads: Row, says: str) -> Markup:
    """One row; neighbours of one shade are one box where cells are too narrow for marks."""
    many = len(loads.loads)
    cells: list[Markup] = []
    start = 0
    for index in range(1, many + 1):
        name, mark = shade(loads.loads[start])
        if many > MARKED and index < many and shade(loads.loads[index])[0] == name:
            continue
        wide = index - start
        x, width = f"{100 * start / many:.3f}%", f"{100 * wide / many:.3f}%"
        cells.append(el("rect", x=x, y=0.5, width=width, height=HEIGHT - 1, class_=name))
        if mark and (many <= MARKED or name in ("h0", "h5")):
            middle = f"{100 * (start + wide / 2) / many:.3f}%"
            cells.append(el("text", mark, x=middle, y=12, text_anchor="middle"))
        start = index
    return el("svg", cells, class_="heat", width="100%", height=HEIGHT, role="img", aria_label=says)


def key(name: str, mark: str) -> Markup:
    box = el("rect", x=1, y=1, width=18, height=14, class_=name)
    return el(
        "svg", box, el("text", mark, x=10, y=12, text_anchor="middle"), class_="key heat", width=20, height=16,
        aria_hidden="true",
    )  # fmt: skip
