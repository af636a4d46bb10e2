"""A stage's part of a pipelined step as SVG: its passes over time, numbered by micro-batch."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.session.timeline import FORWARD, Pass
from doctor.views.markup import Markup, el

HEIGHT = 18
NUMBERED, LETTERED = 0.02, 0.045
"""Shares of the width from which a pass has room for its number on a desktop; with its letter on a phone."""


def stage(passes: Sequence[Pass], whole: float, says: str) -> Markup:
    """The passes of one stage; `whole` is the length of the step."""
    drawn: list[Markup] = []
    for each in passes:
        wide = each.length / whole
        x, width = f"{100 * each.start / whole:.2f}%", f"{100 * wide:.2f}%"
        name, low = ("p-f", 3) if each.kind == FORWARD else ("p-b", 0)
        drawn.append(el("rect", x=x, y=1 + low, width=width, height=HEIGHT - 2 - 2 * low, class_=name))
        if wide >= NUMBERED:
            sign = f"{each.kind if wide >= LETTERED else ''}{each.micro_batch + 1}"
            middle = f"{100 * (each.start + each.length / 2) / whole:.2f}%"
            small = None if wide >= LETTERED else "fine"
            drawn.append(el("text", sign, x=middle, y=13, text_anchor="middle", class_=small))
    return el("svg", drawn, class_="pipe", width="100%", height=HEIGHT, role="img", aria_label=says)
