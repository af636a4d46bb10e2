"""How evenly all-to-alls spread their elements over the ranks: the loads of experts, where a model has them.

An entry holds the whole of what a rank gives away and gets. On the way to the experts all give about the same and get
what was routed to them; on the way back it is the other way round: the more uneven side is the load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import add
from statistics import fmean

from probes.files.flight_recorder.model import Dump, Group
from probes.files.flight_recorder.world import World

SIDES = 1e-6
ALL_TO_ALL = ("all_to_all", "alltoall")


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
    for group, members in world.members.items():
        if len(members) < 2 or not all(rank in world.dumps for rank in members):
            continue
        calls = [dict(_exchanges(world.dumps[rank], group)) for rank in members]
        common = set(calls[0]).intersection(*calls[1:])
        totals, count = [0] * len(members), 0
        for seq in sorted(common):
            given, got = zip(*[own[seq] for own in calls], strict=True)
            load = given if _uneven(given) >= _uneven(got) else got
            count += any(load)
            totals = list(map(add, totals, load))
        if count:
            yield Load(group, count, dict(zip(members, totals, strict=True)))


def _uneven(side: Sequence[int]) -> float:
    return max(side) / (sum(side) / len(side) + SIDES)


def _exchanges(dump: Dump, group: Group) -> Iterator[tuple[int, tuple[int, int]]]:
    """Number of each all-to-all, with the elements that the rank gave away and got."""
    lane = dump.lanes.get(group)
    if lane is None:
        return
    sides = {n: (s.elements_in, s.elements_out) for n, s in dump.shapes.items() if s.op.startswith(ALL_TO_ALL)}
    for seq, number in zip(lane.seqs, lane.shapes, strict=True):
        if number in sides:
            yield seq, sides[number]
