"""How evenly all-to-alls spread their elements over the ranks: the loads of experts, where a model has them.

An entry holds the whole of what a rank gives away and gets. On the way to the experts all give about the same and get
what was routed to them; on the way back it is the other way round: the more uneven side is the load.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from probes.files.flight_recorder.model import Group
from probes.files.flight_recorder.world import World

SIDES = 1e-6


@dataclass(frozen=True, slots=True)
class Load:
    """Elements by rank of `group` over `calls` all-to-alls that every rank of it recorded."""

    group: Group
    calls: int
    elements: dict[int, int]

    @property
    def uneven(self) -> float:
        """The greatest over the mean; 1.0 is even."""
        return max(self.elements.values()) / fmean(self.elements.values())


def loads(world: World) -> Iterator[Load]:
    """The load of every group that has all-to-alls of which all ranks left a record."""
    calls: dict[Group, dict[int, dict[int, tuple[int, int]]]] = defaultdict(lambda: defaultdict(dict))
    for rank, dump in world.dumps.items():
        for one in dump.exchanges:
            calls[one.group][one.seq][rank] = (one.given, one.got)
    for group, by_seq in calls.items():
        members = world.members.get(group, ())
        total: dict[int, int] = dict.fromkeys(members, 0)
        count = 0
        for by_rank in by_seq.values():
            if len(by_rank) == len(members) > 1:
                sides = [[by_rank[rank][side] for rank in members] for side in (0, 1)]
                load = max(sides, key=lambda side: max(side) / (fmean(side) + SIDES))
                count += any(load)
                for rank, elements in zip(members, load, strict=True):
                    total[rank] += elements
        if count and sum(total.values()):
            yield Load(group, count, total)
