"""What a collective test found of groups and of halves, as people read it."""

from __future__ import annotations

import io

import pytest

from doctor.session.bench import Member, Result, Row
from doctor.views.bench_text import print_bench
from probes.live.collectives.halving import Narrowed
from probes.live.collectives.layout import Group
from probes.live.collectives.model import GroupRow, Lost
from probes.live.collectives.siblings import Blame

MEMBERS = tuple(Member(rank, f"n{rank}", "CPU") for rank in range(8))
QUICK, SLOW = Group("DP", (4, 6)), Group("DP", (5, 7))


def row(group: Group, seconds: float, slow: bool, usual: float = 1e9) -> GroupRow:
    return GroupRow(group, 2, Row("all_reduce", 1 << 20, 2, 4, seconds, seconds, 0), usual, slow)


def shown(result: Result, lang: str = "en") -> str:
    file = io.StringIO()
    print_bench(result, file, lang, False)
    return " ".join(file.getvalue().split())


ROWS = (row(QUICK, 0.001, False), row(SLOW, 0.0025, True))


@pytest.mark.parametrize(
    ("blame", "told"),
    [
        (Blame("rank", (5,), (SLOW,)), "Groups: n5 is in every one of 1 slow group(s), down to 42% of their siblings."),
        (Blame("link", (5, 7), (SLOW,)), "Groups: the path n5 - n7 is slow, 42% of the siblings;"),
        (
            Blame("members", (5, 7), (SLOW,)),
            "Groups: DP {5, 7} is slow, 42% of its siblings: one of n5 | n7, or a path",
        ),
    ],
)
def test_what_slow_groups_share_is_said(blame: Blame, told: str) -> None:
    text = shown(Result("gloo", MEMBERS, groups=ROWS, blames=(blame,)))
    assert told in text
    assert "DP {5, 7} all_reduce 1048576 0.419 1.000" in text


def test_groups_that_are_alike_are_said_to_be() -> None:
    rows = (row(QUICK, 0.001, False), row(SLOW, 0.001, False), row(Group("TP", (0, 1)), 0.001, False, 0.0))
    text = shown(Result("gloo", MEMBERS, groups=rows))
    assert "Groups: all 2 are as quick as their siblings." in text and "Groups: 1 have no sibling" in text


def test_among_whom_it_hangs_is_said_in_both_languages() -> None:
    lost = Lost((), "init", 0, "all ranks live", Narrowed((1, 4), ((4, 5, 6, 7),), 3))
    result = Result("gloo", MEMBERS, lost=lost)
    assert "It hangs among n1, n4 (2 of 8 ranks); tried 3 times by halves." in shown(result)
    assert "It does not hang among n4, n5, n6, n7." in shown(result)
    assert "n1, n4" in shown(result, "zh") and "It hangs" not in shown(result, "zh")
