"""Themes: dark, light, high contrast, and the terminal's own 16 colours. Better and worse are blue and orange."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="pdoctor-dark", dark=True,
    primary="#5aa9e6", secondary="#8ab4d8", accent="#e6a65a", warning="#e6a65a", error="#ff7b72", success="#5aa9e6",
    foreground="#d8dee6", background="#12161c", surface="#181d25", panel="#222935",
)  # fmt: skip
LIGHT = Theme(
    name="pdoctor-light", dark=False,
    primary="#0b5fa5", secondary="#33658a", accent="#a35200", warning="#a35200", error="#b3261e", success="#0b5fa5",
    foreground="#1c2128", background="#fbfbf9", surface="#f3f3ef", panel="#e6e6e0",
)  # fmt: skip
CONTRAST = Theme(
    name="pdoctor-contrast", dark=True,
    primary="#66ccff", secondary="#ffffff", accent="#ffcc00", warning="#ffcc00", error="#ff9999", success="#66ccff",
    foreground="#ffffff", background="#000000", surface="#000000", panel="#1a1a1a",
)  # fmt: skip
OWN = (DARK, LIGHT, CONTRAST)
NAMES = ("pdoctor-dark", "pdoctor-light", "pdoctor-contrast", "ansi-dark", "ansi-light")
"""In the order in which a key goes through them."""


def first_theme(colors: str, dark: bool = True) -> str:
    """What to begin with on a terminal of 16 or of more colours."""
    if colors in ("standard", "windows", ""):
        return "ansi-dark" if dark else "ansi-light"
    return DARK.name if dark else LIGHT.name
