"""Draws the ranks of a job as text: a letter a rank, hosts side by side, then how many are in which state."""

from __future__ import annotations

from itertools import groupby

from rich.text import Text

from doctor.facts.ranks import ranges
from doctor.messages import say
from doctor.session.rank_map import LETTERS, RankGroup, RankMap, RankState
from doctor.views.page import Page
from doctor.views.safe import visible

STYLES = {
    RankState.ROOT: "bold reverse red",
    RankState.FAILED: "bold red",
    RankState.WAITED: "yellow",
    RankState.ABSENT: "bold magenta",
    RankState.FINE: "blue",
    RankState.UNSEEN: "dim",
}
MOST_GROUPS, NAME = 64, 14


def draw_ranks(page: Page, ranks: RankMap, lang: str, everything: bool = False) -> None:
    """Writes the picture on `page`; groups beyond what a page holds are left out unless all are asked for, those
    where something is wrong last."""
    page.blank()
    page.wrapped(say(lang, "html.ranks"), style="dim")
    for state, numbers in ranks.counts.items():
        line = Text("  ").append(f" {LETTERS[state]} ", STYLES[state])
        told = ranges(numbers)
        line.append(f" {say(lang, f'html.rank.{state}')}: {len(numbers)}")
        page.wrapped(line.append(f"  ({told})", "dim"), hang=6)
    page.blank()
    shown = ranks.groups if everything else _gravest(ranks.groups)
    names = max(len(_name(group)) for group in shown)
    wide = max(len(group.ranks) for group in shown) + names + 3
    across = max((page.width - 2) // wide, 1)
    for start in range(0, len(shown), across):
        line = Text("  ")
        for group in shown[start : start + across]:
            cell = _group(group, names)
            cell.pad_right(max(wide - cell.cell_len, 1))
            line += cell
        line.rstrip()
        page.row(line)
    if len(shown) < len(ranks.groups):
        page.wrapped(say(lang, "html.cut", n=len(ranks.groups) - len(shown)), indent=2, style="dim")


def _name(group: RankGroup) -> str:
    """A host's name, or the first of its ranks."""
    return (visible(group.host) or str(group.ranks[0][0]))[-NAME:]


def _group(group: RankGroup, wide: int) -> Text:
    """The name of a group in so many columns, and a letter a rank."""
    label = Text().append(_name(group).rjust(wide) + " ", "dim")
    for state, same in groupby(state for _, state in group.ranks):
        label.append(LETTERS[state] * len(list(same)), STYLES[state])
    return label


def _gravest(groups: tuple[RankGroup, ...]) -> tuple[RankGroup, ...]:
    """At most so many groups, in their order, those with the gravest states among them."""
    if len(groups) <= MOST_GROUPS:
        return groups
    order = list(RankState)
    by_state = sorted(groups, key=lambda group: min(order.index(state) for _, state in group.ranks))
    kept = set(map(id, by_state[:MOST_GROUPS]))
    return tuple(group for group in groups if id(group) in kept)
