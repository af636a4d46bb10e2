"""Where the ranks stand: the tree as data and as drawn."""

from __future__ import annotations

import io

from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from doctor.session.stack_tree import Branch, stacks_of
from doctor.views.page import Page
from doctor.views.stack_tree import draw_stacks, stacks_data

SHARED = ("<module> (train.py:41)", "train (train.py:30)")


def tree_of(stacks: dict[int, tuple[str, ...]]) -> tuple[Branch, ...]:
    return stacks_of(FactStore([Fact("stack.frames", frames, f"rank:{rank}") for rank, frames in stacks.items()], []))


def test_stacks_part_where_they_differ_the_most_ranks_first() -> None:
    waits, loads = (*SHARED, "all_reduce (c10d.py:1)"), (*SHARED, "load_batch (train.py:5)")
    assert tree_of({0: waits, 1: loads, 10: waits}) == (
        Branch(
            (0, 1, 10),
            SHARED,
            (Branch((0, 10), ("all_reduce (c10d.py:1)",)), Branch((1,), ("load_batch (train.py:5)",))),
        ),
    )


def test_a_rank_may_stand_where_others_go_on() -> None:
    (tree,) = tree_of({0: SHARED, 1: (*SHARED, "save (train.py:9)")})
    assert tree.ranks == (0, 1) and tree.branches == (Branch((1,), ("save (train.py:9)",)),)


def test_without_stacks_there_is_no_tree() -> None:
    assert tree_of({}) == ()


def test_the_tree_is_drawn_and_its_frames_cannot_reach_the_terminal_live() -> None:
    tree = tree_of({0: SHARED, 1: (*SHARED, "f\x1b[31m (x.py:1)")})
    page, out = Page(), io.StringIO()
    draw_stacks(page, tree, "en")
    page.print(out, color=False)
    assert "where the main threads of the ranks stand" in out.getvalue() and "ranks 0, 1" in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()
    assert stacks_data(tree)[0]["branches"][0]["ranks"] == [1]
