"""The ranks of a host as SVG: a cell a rank, coloured and lettered by state."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.session.rank_map import LETTERS, RankState
from doctor.views.markup import Markup, el

CELL, GAP, ACROSS = 20, 2, 8


def cells(ranks: Sequence[tuple[int, RankState]], says: str) -> Markup:
    """Eight cells a row, as nodes have GPUs."""
    drawn = []
    for index, (rank, state) in enumerate(ranks):
        x, y = (index % ACROSS) * (CELL + GAP), (index // ACROSS) * (CELL + GAP)
        box = el("rect", x=x, y=y, width=CELL, height=CELL, rx=3, class_=f"r-{state}")
        sign = el("text", LETTERS[state], x=x + CELL // 2, y=y + 14, text_anchor="middle", class_=f"t-{state}")
        drawn.append(el("g", el("title", str(rank)), box, sign))
    across, down = min(len(ranks), ACROSS), -(-len(ranks) // ACROSS)
    width, height = across * (CELL + GAP) - GAP, down * (CELL + GAP) - GAP
    return el("svg", drawn, class_="ranks", width=width, height=height, role="img", aria_label=says)


def key(state: RankState) -> Markup:
    box = el("rect", x=0, y=0, width=CELL, height=CELL, rx=3, class_=f"r-{state}")
    sign = el("text", LETTERS[state], x=CELL // 2, y=14, text_anchor="middle", class_=f"t-{state}")
    return el("svg", box, sign, class_="key ranks", width=CELL, height=CELL, aria_hidden="true")
