"""Where the ranks stand: a tree of frames, parted where they part."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.session.stack_tree import Branch, stacks_of
from doctor.views import present
from doctor.views.html.context import Context, folded
from doctor.views.html.pictures import figure
from doctor.views.markup import Child, Markup, el
from doctor.views.quote import excerpt

INNERMOST, DEEPEST, WIDEST, LONGEST = 6, 12, 24, 240
"""Frames of a branch that are shown unfolded, branches within each other, beside each other, characters of a frame."""


def stacks(context: Context) -> Markup | None:
    tree = stacks_of(context.report.store)
    return figure(context.say("picture.stacks"), _branches(context, tree, 1)) if tree else None


def _branches(context: Context, tree: Sequence[Branch], depth: int) -> Markup:
    entries: list[Child] = [_branch(context, branch, depth) for branch in tree[:WIDEST]]
    if tree[WIDEST:]:
        entries.append(el("span", context.say("html.cut", n=len(tree) - WIDEST), class_="dim"))
    return el("ul", [el("li", entry) for entry in entries], class_="stacks")


def _branch(context: Context, branch: Branch, depth: int) -> list[Child]:
    who = present.places([f"rank:{rank}" for rank in branch.ranks], context.lang)
    outer, inner = branch.frames[:-INNERMOST], branch.frames[-INNERMOST:]
    before = folded(context.say("html.frames", n=len(outer)), _frames(outer)) if outer else None
    if not branch.branches:
        return [el("b", who), before, _frames(inner)]
    if depth == DEEPEST:
        return [el("b", who), before, _frames(inner), el("p", "…", class_="dim")]
    return [el("b", who), before, _frames(inner), _branches(context, branch.branches, depth + 1)]


def _frames(frames: Sequence[str]) -> Markup:
    return el("div", [el("code", excerpt(frame, LONGEST)) for frame in frames], class_="frames")
