"""Who waits for whom: from each rank that stands in a call to the ranks that this call still needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from probes.files.flight_recorder.model import Group, Record
from probes.files.flight_recorder.world import World, has_root


class Why(StrEnum):
    """What keeps the awaited rank away."""

    NOT_JOINED = "has not called it"
    NOT_POSTED = "has not posted its side"
    ELSEWHERE = "stands in an earlier call"
    ABSENT = "left no dump"
    LEFT = "has left it already"


@dataclass(frozen=True, slots=True)
class Wait:
    """`waiter` stands in `record` and needs `awaited`."""

    waiter: int
    awaited: int
    record: Record
    why: Why


Waits: TypeAlias = Mapping[int, Sequence[Wait]]


@dataclass(frozen=True, slots=True)
class _Collective:
    """Where the ranks of one collective are: who keeps the others waiting and why, and who is through."""

    missing: tuple[tuple[int, Why], ...]
    gone: tuple[int, ...]


def waits(world: World) -> dict[int, list[Wait]]:
    """The edges of the wait-for graph, by the rank that waits."""
    known: dict[tuple[Group, int], _Collective] = {}
    return {rank: list(_of(world, rank, known)) for rank in world.dumps}


def _of(world: World, rank: int, known: dict[tuple[Group, int], _Collective]) -> Iterator[Wait]:
    for record in world.stand(rank):
        if record.p2p:
            yield from _point(world, rank, record)
            continue
        key = record.group, record.seq
        if key not in known:  # a thousand ranks may stand in it
            known[key] = _collective(world, *key)
        yield from _awaited(rank, record, known[key])


def _collective(world: World, group: Group, seq: int) -> _Collective:
    missing, gone = [], []
    for rank in world.members.get(group, ()):
        if rank not in world.dumps:
            missing.append((rank, Why.ABSENT))
        elif not world.joined(rank, group, seq):
            missing.append((rank, Why.NOT_JOINED))
        elif world.passed(rank, group, seq):
            gone.append(rank)
        elif not any(own.group == group and own.seq == seq and not own.p2p for own in world.stand(rank)):
            missing.append((rank, Why.ELSEWHERE))
    return _Collective(tuple(missing), tuple(gone))


def _awaited(rank: int, record: Record, call: _Collective) -> Iterator[Wait]:
    # Nobody gets through a call unless everybody came to it, but for those that have a root. A backend that only
    # retires calls retires those as well that failed because a peer went away.
    through = call.gone and not record.synchronous and not has_root(record.op)
    if call.missing and not through:
        yield from (Wait(rank, other, record, why) for other, why in call.missing)
    elif record.synchronous:
        yield from (Wait(rank, other, record, Why.LEFT) for other in call.gone)


def _point(world: World, rank: int, record: Record) -> Iterator[Wait]:
    peer = record.peer
    if peer < 0 or peer == rank:
        return
    if peer not in world.dumps:
        yield Wait(rank, peer, record, Why.ABSENT)
        return
    if not any(_meets(own, record, rank) for own in world.dumps[peer].pending):
        yield Wait(rank, peer, record, Why.NOT_POSTED)
    elif not any(_meets(own, record, rank) for own in world.stand(peer)):
        yield Wait(rank, peer, record, Why.ELSEWHERE)


def _meets(own: Record, record: Record, rank: int) -> bool:
    """Is `own` the other side of `record`, a call of `rank`?"""
    return own.p2p and own.group == record.group and own.peer == rank and own.sends != record.sends


def sinks(graph: Waits) -> list[tuple[int, ...]]:
    """The strongly connected parts of the graph that wait for nothing outside and for which somebody waits (Tarjan
    1972, without recursion): single ranks that wait for nobody, and circles."""
    parts = _parts(graph)
    part_of = {rank: index for index, part in enumerate(parts) for rank in part}
    leaves, awaited = set(range(len(parts))), set()
    for rank, out in graph.items():
        for wait in out:
            if part_of[rank] != part_of[wait.awaited]:
                leaves.discard(part_of[rank])
                awaited.add(part_of[wait.awaited])
    return [tuple(sorted(parts[i])) for i in sorted(leaves) if i in awaited or len(parts[i]) > 1]


def _parts(graph: Waits) -> list[list[int]]:
    after: dict[int, list[int]] = defaultdict(list)
    for rank, out in graph.items():
        after[rank] = list(dict.fromkeys(wait.awaited for wait in out))
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    held: list[int] = []
    inside: set[int] = set()
    parts: list[list[int]] = []
    for start in list(after):
        if start in number:
            continue
        work = [(start, iter(after[start]))]
        number[start] = low[start] = len(number)
        held.append(start)
        inside.add(start)
        while work:
            rank, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = len(number)
                    held.append(other)
                    inside.add(other)
                    work.append((other, iter(after.get(other, ()))))
                    break
                if other in inside:
                    low[rank] = min(low[rank], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[rank])
                if low[rank] == number[rank]:
                    place = held.index(rank)
                    parts.append(held[place:])
                    inside.difference_update(held[place:])
                    del held[place:]
    return parts
