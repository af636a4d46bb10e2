"""Draws where the ranks stand: a tree of frames, parted where they part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from doctor.messages import say
from doctor.session.stack_tree import Branch
from doctor.views import present
from doctor.views.page import Page
from doctor.views.safe import visible

INDENT = 2


def draw_stacks(page: Page, tree: Sequence[Branch], lang: str) -> None:
    """Writes the tree on `page`, the outermost frame first."""
    page.blank()
    page.wrapped(say(lang, "picture.stacks"), style="dim")
    for branch in tree:
        _draw(page, branch, lang, INDENT)


def _draw(page: Page, branch: Branch, lang: str, indent: int) -> None:
    who = present.places([f"rank:{rank}" for rank in branch.ranks], lang)
    page.wrapped(Text(visible(who), "cyan"), indent=indent)
    for frame in branch.frames:
        page.wrapped(visible(frame), indent=indent + INDENT, hang=indent + 2 * INDENT)
    for inner in branch.branches:
        _draw(page, inner, lang, indent + INDENT)


def stacks_data(tree: Sequence[Branch]) -> list[dict[str, Any]]:
    """The tree for programs."""
    return [
        {"ranks": list(branch.ranks), "frames": list(branch.frames), "branches": stacks_data(branch.branches)}
        for branch in tree
    ]
