"""A bar of parts as SVG: as wide as its place, each part with its letter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from doctor.views.markup import Markup, el

HEIGHT = 20
LETTERED = 0.035
"""Share from which a part has room for its letter on a phone."""

MARKS: Mapping[str, tuple[str, int]] = {
    "compute": ("C", 2), "comm_tp": ("T", 3), "comm_pp": ("P", 0), "comm_dp": ("D", 6), "comm_ep": ("E", 4),
    "comm_cp": ("X", 5), "comm_unknown": ("N", 9), "memory": ("M", 8),
    "held_parameters": ("P", 2), "held_parameter_buffers": ("B", 9), "held_gradients": ("G", 5),
    "held_optimizer_state": ("O", 0), "held_activations": ("A", 1), "held_logits": ("L", 4),
    "held_communication": ("N", 3), "held_temporary": ("T", 8), "held_earlier": ("E", 6), "held_unknown": ("?", 7),
    "idle": ("i", -1), "idle_host": ("h", -1), "idle_sync": ("s", -1), "idle_other": ("o", -1),
    "gpu_allocated": ("A", 1), "gpu_cached": ("c", 6), "gpu_fragmented": ("F", 4), "gpu_outside": ("N", 3),
    "gpu_others": ("O", 9), "gpu_outside_or_others": ("N", 3), "gpu_used": ("U", 0), "gpu_driver": ("D", 7),
    "gpu_free": ("f", -1), "gpu_unknown": ("?", -1),
    # of plans
    "parameters": ("P", 2), "gradients": ("G", 5), "optimizer": ("O", 0), "activations": ("A", 1), "other": ("R", 7),
    "products": ("C", 2), "attention": ("A", 1), "operators": ("M", 8), "recompute": ("R", 9), "host": ("h", -1),
    "bubble": ("b", -1), "update": ("O", 0), "offload": ("F", 7),
    "tp": ("T", 3), "cp": ("X", 5), "ep": ("E", 4), "dp": ("D", 6), "pp": ("P", 0),
}  # fmt: skip
"""Letter and colour (a class of the style sheet, -1 for what is idle) of each kind of part."""
OTHER = ("?", 7)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar: its kind, its share of the whole place (0 to 1), its words."""

    kind: str
    share: float
    words: str


def colour(kind: str) -> str:
    number = MARKS.get(kind, OTHER)[1]
    return "ci" if number < 0 else f"c{number}"


def letter(kind: str) -> str:
    return MARKS.get(kind, OTHER)[0]


def bar(pieces: Iterable[Piece], says: str, limit: float | None = None) -> Markup:
    """One bar; `says` is read to those who do not see it. `limit` (0 to 1) is marked by a line over the bar."""
    parts: list[Markup] = []
    begin = 0.0
    for piece in pieces:
        wide = max(min(piece.share, 1.0 - begin), 0.0)
        if wide <= 0:
            continue
        box = el("rect", x=_percent(begin), y=2, width=_percent(wide), height=HEIGHT - 4, class_=colour(piece.kind))
        name = letter(piece.kind)
        sign = el("text", name, x=_percent(begin + wide / 2), y=14, text_anchor="middle") if wide >= LETTERED else None
        parts.append(el("g", el("title", piece.words), box, sign))
        begin += wide
    if limit is not None and 0 < limit <= 1:
        at = _percent(min(limit, 0.998))
        parts.append(el("line", x1=at, x2=at, y1=0, y2=HEIGHT, class_="limit"))
    return el("svg", parts, class_="bar", width="100%", height=HEIGHT, role="img", aria_label=says)


def key(kind: str) -> Markup:
    """The sample of a kind for the legend: its colour and letter."""
    box = el("rect", x=1, y=1, width=18, height=16, class_=colour(kind))
    sign = el("text", letter(kind), x=10, y=13, text_anchor="middle")
    return el("svg", box, sign, class_="key", width=20, height=18, aria_hidden="true")


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
