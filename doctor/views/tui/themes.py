"""Themes: dark, light, high contrast, and the terminal's own 16 colours. Better and worse are blue and orange."""

from __future__ import annotations

from collections.abc import Iterable

from rich.terminal_theme import TerminalTheme
from textual.filter import DimFilter, LineFilter
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


def _palette(theme: Theme, green: str, magenta: str, cyan: str, white: str) -> TerminalTheme:
    """What the eight colours of the report's texts are in a theme, so that they are as readable as its own."""
    named = (theme.panel, theme.error, green, theme.warning, theme.primary, magenta, cyan, white)
    colors = [_rgb(color or white) for color in named]
    return TerminalTheme(_rgb(theme.background or white), _rgb(theme.foreground or white), colors)


def _rgb(color: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue


PALETTES = {
    DARK.name: _palette(DARK, "#7bc7a0", "#c9a0dc", "#6cc5c9", "#d8dee6"),
    LIGHT.name: _palette(LIGHT, "#1a6e45", "#7b3f9e", "#00677a", "#57606a"),
    CONTRAST.name: _palette(CONTRAST, "#99ff99", "#ff99ff", "#66ffff", "#ffffff"),
}
OWN = (DARK, LIGHT, CONTRAST)
DIM = 0.65
"""How much of its colour a dim text keeps: with Textual's half it has less contrast than the 4.5 : 1 of WCAG 2.2."""

NAMES = ("pdoctor-dark", "pdoctor-light", "pdoctor-contrast", "ansi-dark", "ansi-light")
"""In the order in which a key goes through them."""


def keep_dim_readable(filters: Iterable[LineFilter]) -> None:
    """Lets dim texts keep more of their colour."""
    for each in filters:
        if isinstance(each, DimFilter):
            each.dim_factor = DIM


def first_theme(colors: str, dark: bool = True) -> str:
    """What to begin with on a terminal of 16 or of more colours."""
    if colors in ("standard", "windows", ""):
        return "ansi-dark" if dark else "ansi-light"
    return DARK.name if dark else LIGHT.name
