"""Which groups of a layout are slower than their siblings, and what the slow ones have in common.

A collective runs at the pace of its slowest member or path. So every member of a quick group is quick, as far as the
kind of path goes that the group uses: within a host or between hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from probes.live.collectives.layout import Group
from probes.live.collectives.usual import NOISY, Usual, usual


@dataclass(frozen=True, slots=True)
class Blame:
    """What explains slow groups. `kind`: host, rank, link (of two ranks), or members: one of them or a path there."""

    kind: str
    ranks: tuple[int, ...]
    groups: tuple[Group, ...]


def slower(rates: Mapping[Group, Sequence[float]]) -> tuple[Usual, frozenset[Group]] | None:
    """What is usual among groups that are alike, and those that are slow; None where nothing can be said.

    One group has no sibling, and among siblings that spread too much none can be told.
    """
    if len(rates) < 2:
        return None
    norm = usual(median(values) for values in rates.values())
    if norm.spread > NOISY:
        return None
    return norm, frozenset(group for group, values in rates.items() if norm.slow(values))


def blamed(slow: Collection[Group], quick: Collection[Group], hosts: Sequence[int]) -> tuple[Blame, ...]:
    """The fewest hosts, ranks and paths that explain all slow groups; `hosts` has the host's number of each rank.

    `quick` are the groups that were compared with siblings and found well.
    """
    left = sorted(slow, key=str)
    cleared = {
        across: {rank for group in quick if _across(group, hosts) is across for rank in group.ranks}
        for across in (False, True)
    }
    found: list[Blame] = []
    while left:
        suspects = {group: [r for r in group.ranks if r not in cleared[_across(group, hosts)]] for group in left}
        best = _host(suspects, hosts) or _rank(suspects)
        if best is None:
            break
        found.append(best)
        left = [group for group in left if group not in best.groups]
    for group in left:
        # A single member that no quick group clears may be slow, or its path to the others: one group cannot tell.
        suspected = tuple(rank for rank in group.ranks if rank not in cleared[_across(group, hosts)])
        link = len(group.ranks) == 2 and not suspected
        found.append(Blame("link" if link else "members", suspected or group.ranks, (group,)))
    return tuple(found)


def _across(group: Group, hosts: Sequence[int]) -> bool:
    return len({hosts[rank] for rank in group.ranks}) > 1


def _rank(suspects: Mapping[Group, Sequence[int]]) -> Blame | None:
    """The rank that explains most slow groups, at least two, and more than any other rank does."""
    counts: dict[int, list[Group]] = {}
    for group, ranks in suspects.items():
        for rank in ranks:
            counts.setdefault(rank, []).append(group)
    ordered = sorted(counts.items(), key=lambda item: -len(item[1]))
    if not ordered or len(ordered[0][1]) < 2 or (len(ordered) > 1 and len(ordered[1][1]) == len(ordered[0][1])):
        return None
    rank, groups = ordered[0]
    return Blame("rank", (rank,), tuple(groups))


def _host(suspects: Mapping[Group, Sequence[int]], hosts: Sequence[int]) -> Blame | None:
    """A host of which two ranks or more are suspect, in more slow groups than one of its ranks or another host is."""
    counts: dict[int, dict[Group, set[int]]] = {}
    for group, members in suspects.items():
        for rank in members:
            counts.setdefault(hosts[rank], {}).setdefault(group, set()).add(rank)
    several = []
    for host, groups in counts.items():
        ranks = set().union(*groups.values())
        alone = max(sum(rank in own for own in groups.values()) for rank in ranks)
        if len(ranks) > 1 and alone < len(groups) > 1:
            several.append((len(groups), host, tuple(groups), tuple(sorted(ranks))))
    several.sort(key=lambda item: -item[0])
    if not several or (len(several) > 1 and several[1][0] == several[0][0]):
        return None
    _, _, explained, ranks_of = several[0]
    return Blame("host", ranks_of, explained)
