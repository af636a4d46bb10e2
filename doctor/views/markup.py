"""Elements of HTML and SVG. Whatever is not an element already is text: it is made visible and escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from doctor.views.safe import visible

VOID = frozenset({"meta", "input", "br", "hr", "wbr"})


class Markup(str):
    """Text that is HTML already. Only the functions of this module and constants of ours make it."""

    __slots__ = ()


Child: TypeAlias = "Markup | str | Iterable[Child] | None"
NOTHING = Markup("")


def el(tag: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """An element. An attribute's name is given with `_` for `-`, and may end in `_` where Python has the word; one that
    is None or False is left out."""
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{told}>")
    return Markup(f"<{tag}{told}>{text(*children)}</{tag}>")


def text(*children: Child) -> Markup:
    """All children one after the other."""
    return Markup("".join(_child(child) for child in children))


def lines(children: Iterable[Child]) -> Markup:
    """Each child on a line of its own, for text whose line ends are kept."""
    return Markup("\n".join(text(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(visible(child), quote=False)
    return "".join(_child(each) for each in child)


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(visible(f"{value:g}" if isinstance(value, float) else str(value)))}"'
