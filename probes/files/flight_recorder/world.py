"""All dumps of one moment side by side: who belongs to which group, and how far each rank came in it.

Numbers of records are each rank's own. What ranks share is the number of a collective within its group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from probes.files.flight_recorder.model import SYNCHRONOUS, Dump, Dumps, Group, Record

DEFAULT = "default_pg"
_ROOTED = ("broadcast", "gather", "scatter")


class Place(NamedTuple):
    """How far a rank came in a group: the last collective it issued, and the last up to which all are finished."""

    enqueued: int
    done: int


def has_root(op: str) -> bool:
    """May a rank leave such a call before all the others have come?"""
    return op == "reduce" or op.startswith(_ROOTED)


class World:
    """The dumps, with the groups named alike on all of them."""

    def __init__(self, dumps: Dumps) -> None:
        known: dict[str, set[Group]] = defaultdict(set)
        for dump in dumps.values():
            for group in dump.groups:
                known[group.name].add(group)
        one: dict[Group, Group] = {}
        self.dumps = {rank: _with_ranks(dump, known, one) for rank, dump in sorted(dumps.items())}
        self.mixed = {group for dump in self.dumps.values() for group in dump.p2p}
        self.places = {rank: self._places(dump) for rank, dump in self.dumps.items()}
        self.open = {
            rank: {(record.group, record.seq) for record in dump.pending if not record.p2p}
            for rank, dump in self.dumps.items()
        }
        self.members = self._members()
        self._furthest: dict[Group, int] = {}
        for rank in self.dumps:
            self._reopen(rank)
        ranks = {rank for members in self.members.values() for rank in members} | self.dumps.keys()
        self.ranks = range(max(ranks, default=-1) + 1)
        self.absent = tuple(rank for rank in self.ranks if rank not in self.dumps)

    def joined(self, rank: int, group: Group, seq: int) -> bool:
        """Has the rank issued this collective?"""
        place = self.places[rank].get(group)
        return place is not None and place.enqueued >= seq

    def passed(self, rank: int, group: Group, seq: int) -> bool:
        """Is the collective over on this rank?"""
        return self.joined(rank, group, seq) and (group, seq) not in self.open[rank]

    def furthest(self, group: Group) -> int:
        """The last collective of the group that is over for one of its ranks, with all before it."""
        if group not in self._furthest:
            places = [self.places[rank].get(group) for rank in self.members.get(group, ()) if rank in self.dumps]
            self._furthest[group] = max((place.done for place in places if place), default=0)
        return self._furthest[group]

    def stand(self, rank: int) -> list[Record]:
        """The call at which the rank stands: its oldest unfinished one, or the batch of sends and receives it is in."""
        pending = self.dumps[rank].pending
        if not pending or not pending[0].p2p:
            return pending[:1]
        batch = pending[:1]
        for record in pending[1:]:
            if not record.p2p or record.id != batch[-1].id + 1 or record.group != batch[0].group:
                break
            batch.append(record)
        return batch

    def _reopen(self, rank: int) -> None:
        """A call to which a peer never came cannot have succeeded: it failed, and the rank stood in it until then."""
        dump = self.dumps[rank]
        for group, record in dump.ended.items():
            others = [other for other in self.members.get(group, ()) if other in self.dumps]
            late = [other for other in others if not self.joined(other, group, record.seq)]
            if late and not has_root(record.op):
                dump.pending = sorted([*dump.pending, record], key=lambda each: each.id)
                self.open[rank].add((group, record.seq))

    def _places(self, dump: Dump) -> dict[Group, Place]:
        places = {group: Place(lane.enqueued, lane.done) for group, lane in dump.lanes.items()}
        for group, (enqueued, done) in dump.told.items():
            if group in self.mixed:
                continue  # the watchdog counts sends and receives of such a group as well
            lane = places.get(group)
            if lane is None:
                places[group] = Place(max(enqueued, 0), max(done, 0))
                continue
            # the oldest unfinished calls may have fallen out of the recorder; Gloo's count of the finished is late
            lost = done >= 0 and not dump.lanes[group].ends and not dump.backends & set(SYNCHRONOUS)
            places[group] = Place(max(enqueued, lane.enqueued), min(done, lane.done) if lost else lane.done)
        return places

    def _members(self) -> dict[Group, tuple[int, ...]]:
        """The ranks of each group that is used: as the dumps name them, else those that were seen in it."""
        users: dict[Group, set[int]] = defaultdict(set)
        for rank, dump in self.dumps.items():
            for group in {*self.places[rank], *(record.group for record in dump.pending)}:
                users[group].add(rank)
        top = max((max(group.ranks) for group in users if group.ranks), default=-1)
        everyone = range(max(top, *self.dumps, -1) + 1)
        found: dict[Group, tuple[int, ...]] = {}
        for group, ranks in users.items():
            size = self._size(group)
            if group.ranks:
                found[group] = group.ranks
            elif group.desc == DEFAULT or (group.name == "0" and not group.desc):
                found[group] = tuple(range(max(len(everyone), size)))
            else:
                found[group] = tuple(sorted(ranks))
        return found | dict(_completed(found, everyone))

    def _size(self, group: Group) -> int:
        """Ranks of a group that names none, as the sizes of its gathers show."""
        for dump in self.dumps.values():
            lane = dump.lanes.get(group)
            for number in set(lane.shapes) if lane else ():
                shape = dump.shapes[number]
                less, more = sorted((shape.elements_in, shape.elements_out))
                if shape.op.startswith(("all_gather", "allgather", "reduce_scatter")) and less and more % less == 0:
                    return min(more // less, 1 << 20)
        return 0


def _with_ranks(dump: Dump, known: dict[str, set[Group]], one: dict[Group, Group]) -> Dump:
    """The dump with every group as the dumps that know its ranks name it, the same object for all (`one`)."""
    used = {*dump.lanes, *dump.told, *dump.p2p, *dump.ended, *(record.group for record in dump.pending)}
    better = {}
    for group in used:
        fits = [other for other in known.get(group.name, ()) if dump.rank in other.ranks]
        named = fits[0] if not group.ranks and len(fits) == 1 else group
        better[group] = one.setdefault(named, named)
    return replace(
        dump,
        lanes={better[group]: lane for group, lane in dump.lanes.items()},
        told={better[group]: told for group, told in dump.told.items()},
        p2p={better[group] for group in dump.p2p},
        ended={better[group]: replace(record, group=better[group]) for group, record in dump.ended.items()},
        pending=[replace(record, group=better[record.group]) for record in dump.pending],
    )


def _completed(found: dict[Group, tuple[int, ...]], everyone: Iterable[int]) -> Iterable[tuple[Group, tuple[int, ...]]]:
    """A group that lacks ranks beside its sisters gets those that are in none of them, when that is unambiguous: a
    rank that never came to the first call of its group does not say that it belongs there."""
    sisters: dict[str, list[Group]] = defaultdict(list)
    for group in found:
        if not group.ranks and group.desc and group.desc != DEFAULT:
            sisters[group.desc].append(group)
    for groups in sisters.values():
        size = max(len(found[group]) for group in groups)
        short = [group for group in groups if len(found[group]) < size]
        free = sorted(set(everyone) - {rank for group in groups for rank in found[group]})
        if len(short) == 1 and len(free) == size - len(found[short[0]]):
            yield short[0], tuple(sorted({*found[short[0]], *free}))
