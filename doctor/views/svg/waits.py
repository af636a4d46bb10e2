"""One edge of the wait graph as SVG: those that wait, an arrow, those that they wait for."""

from __future__ import annotations

from doctor.views.markup import Markup, el

HEIGHT = 30
LONGEST = 22
"""Characters that fit a box on a phone."""


def edge(who: str, whom: str, says: str, culprit: bool) -> Markup:
    """`culprit`: the awaited are drawn as those that hold up the others."""
    left = el("rect", x="0.3%", y=1, width="39%", height=HEIGHT - 2, rx=4, class_="w-box")
    right = el("rect", x="60.7%", y=1, width="39%", height=HEIGHT - 2, rx=4, class_="w-root" if culprit else "w-box")
    line = el("line", x1="40.5%", x2="59%", y1=HEIGHT / 2, y2=HEIGHT / 2, class_="w-line")
    # The tip stands in a picture of its own, since only lengths can be given in percent.
    tip = el(
        "svg",
        el("path", d="M-8 -5 L0 0 L-8 5 Z", class_="w-tip"),
        x="59.8%",
        y=HEIGHT / 2,
        overflow="visible",
        aria_hidden="true",
    )
    words = [
        el("text", _short(who), x="19.8%", y=19, text_anchor="middle"),
        el("text", _short(whom), x="80.2%", y=19, text_anchor="middle", class_="w-on" if culprit else None),
    ]
    parts = [el("title", says), left, right, line, tip, words]
    return el("svg", parts, class_="waits", width="100%", height=HEIGHT, role="img", aria_label=says)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
