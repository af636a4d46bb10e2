"""One verdict over all ranks: who holds up the job, how, and what shows it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from probes.files.flight_recorder.mismatch import Mismatch, mismatch
from probes.files.flight_recorder.model import Group, Record
from probes.files.flight_recorder.waits import Wait, Waits, Why, sinks, waits
from probes.files.flight_recorder.world import World

STALE = 10 * 10**9
"""A call is not merely under way when something else in the dumps happened so many nanoseconds after it was made."""


ROUTINE = 3
"""A step that a rank made more often than this belongs to its work."""

SURE_LAG = 2
"""Collectives that a rank lags behind a peer and that no late look at its device explains."""


class Kind(StrEnum):
    """What is wrong."""

    OK = "ok"
    TYPE = "type-mismatch"
    SIZE = "size-mismatch"
    DTYPE = "dtype-mismatch"
    CPU = "stuck-on-cpu"
    GPU = "stuck-on-gpu"
    DEAD = "no-dump"
    LEFT = "left-early"
    UNRECORDED = "unrecorded"
    DEADLOCK = "deadlock"
    STALLED = "stalled"
    UNDER_WAY = "under-way"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`faults` are the culprits with what each does wrong; `calls` the calls that others wait in; `circle` the ranks
    that wait for each other; `graph` who waits for whom."""

    kind: Kind
    faults: dict[int, Kind] = field(default_factory=dict)
    graph: Waits = field(default_factory=dict)
    clash: Mismatch | None = None
    circle: tuple[int, ...] = ()
    stalled: tuple[Record, ...] = ()


def verdict(world: World) -> Verdict:
    """What the dumps say, the surest first."""
    graph = waits(world)
    if clash := mismatch(world):
        kind = {"type": Kind.TYPE, "size": Kind.SIZE, "dtype": Kind.DTYPE}[clash.kind]
        return Verdict(kind, dict.fromkeys(clash.ranks, kind), graph, clash)
    awaited = {wait.awaited: wait for out in graph.values() for wait in out}
    faults = dict(_on_cpu(world, graph)) | dict(_on_gpu(world, graph, awaited))
    if faults and (hidden := _unrecorded(world, faults)):
        kind = next(iter(hidden.values()))
        return Verdict(kind, hidden, graph)
    if faults:
        return Verdict(Counter(faults.values()).most_common(1)[0][0], faults, graph)
    return _at_the_ends(world, graph)


def _on_cpu(world: World, graph: Waits) -> Iterator[tuple[int, Kind]]:
    """Ranks whose program stands still. Their peers issued a collective which these have not, and nothing that these
    still wait for kept the peers from going on: either they have nothing unfinished at all, or a peer got past the
    very same calls and they wait for somebody in turn, as where two ranks stop at a time."""
    behind: dict[int, set[int]] = defaultdict(set)
    waiters: dict[tuple[Group, int], list[int]] = defaultdict(list)
    for rank, dump in world.dumps.items():
        for record in dump.pending:
            if not record.p2p:
                waiters[record.group, record.seq].append(rank)
    for (group, seq), ahead in waiters.items():
        for other in world.members[group]:
            if other in world.dumps and not world.joined(other, group, seq):
                behind[other].update(ahead)
    kinds = {rank: _kinds(world, rank) for rank in world.dumps}
    for rank, peers in behind.items():
        if world.dumps[rank].pending and all(wait.why is Why.ABSENT for wait in graph[rank]):
            continue
        if all(kinds[rank] <= theirs for theirs in {kinds[peer] for peer in peers}):
            yield rank, Kind.CPU


def _unrecorded(world: World, faults: dict[int, Kind]) -> dict[int, Kind]:
    """Whom to suspect where those that seem to stand still may stand in a send or receive that left no record: Gloo
    records none, and only its count of calls shows that there are some. A rank without dump is then likelier to be
    what they wait for; else, of several, every one that has nothing unfinished and makes such calls may be."""
    if not all(kind is Kind.CPU and world.dumps[rank].unrecorded for rank, kind in faults.items()):
        return {}
    idle = [rank for rank, dump in world.dumps.items() if dump.unrecorded and not dump.pending]
    if world.absent and len(world.absent) < len(world.ranks) / 2:
        return dict.fromkeys(world.absent, Kind.DEAD)
    return dict.fromkeys(idle, Kind.UNRECORDED) if len(idle) > 1 and set(faults) <= set(idle) else {}


def _kinds(world: World, rank: int) -> frozenset[tuple[str, str, int]]:
    """The unfinished calls as they are called on every rank that does the same work, whichever group it does it in."""
    return frozenset((r.group.desc or r.group.name, r.op, r.seq) for r in world.dumps[rank].pending)


def _on_gpu(world: World, graph: Waits, awaited: dict[int, Wait]) -> Iterator[tuple[int, Kind]]:
    """Ranks whose device does not get on: a collective is unfinished that is over for a peer, so everybody came to it.
    One such call may be finished and not yet seen to be; a rank that waits for others must lag further, in one group
    or over several."""
    for rank, dump in world.dumps.items():
        lags = [_lag(world, record) for record in dump.pending if not record.p2p]
        lag = max([*lags, sum(each > 0 for each in lags)], default=0)
        free = all(wait.why is Why.ABSENT for wait in graph[rank])
        held = rank in awaited and lag >= (1 if free else SURE_LAG)
        if held or (free and not lag and _not_begun(world, rank)):
            yield rank, Kind.GPU


def _lag(world: World, record: Record) -> int:
    """How many collectives of the group are over for a peer, from this unfinished one of the rank on."""
    if record.synchronous:
        return 0
    return world.furthest(record.group) - record.seq + 1


def _not_begun(world: World, rank: int) -> bool:
    """Do the peers' devices run the call at which the rank stands, and its own not? (TORCH_NCCL_ENABLE_TIMING)"""
    record = next(iter(world.stand(rank)), None)
    if record is None or record.p2p or record.state != "scheduled":
        return False
    members = world.members[record.group]
    states = [
        r.state for m in members if m in world.dumps and m != rank for r in world.stand(m)[:1] if _same(r, record)
    ]
    return len(states) == len(members) - 1 > 0 and states.count("started") * 2 > len(states)


def _same(one: Record, two: Record) -> bool:
    return (one.group, one.seq, one.p2p) == (two.group, two.seq, two.p2p)


def _at_the_ends(world: World, graph: Waits) -> Verdict:
    """No rank gives itself away: what the chains of waiting lead to decides."""
    ends = sinks(graph)
    why: dict[int, set[Why]] = defaultdict(set)
    for out in graph.values():
        for wait in out:
            why[wait.awaited].add(wait.why)
    dead = [rank for end in ends for rank in end if rank not in world.dumps]
    if dead:
        return Verdict(Kind.DEAD, dict.fromkeys(dead, Kind.DEAD), graph)
    circles = [end for end in ends if len(end) > 1]
    if circles:
        return _deadlock(world, graph, max(circles, key=len))
    single = [end[0] for end in ends if len(end) == 1]
    left = [rank for rank in single if Why.LEFT in why[rank]]
    if left:
        return Verdict(Kind.LEFT, dict.fromkeys(left, Kind.LEFT), graph)
    idle = [rank for rank in single if not world.dumps[rank].pending]
    if idle:
        return Verdict(Kind.CPU, dict.fromkeys(idle, Kind.CPU), graph)
    standing = [record for rank in world.dumps if not graph[rank] for record in world.stand(rank)]
    if not standing:
        return Verdict(Kind.OK, {}, graph)
    if single:
        standing = [record for rank in single for record in world.stand(rank)]
    newest = max(dump.newest for dump in world.dumps.values())
    certain = any(r.timed_out or newest - r.created > STALE for r in standing) or all(
        r.state == "started" for r in standing
    )
    return Verdict(Kind.STALLED if certain else Kind.UNDER_WAY, {}, graph, stalled=tuple(_each_call(standing)))


def _each_call(records: list[Record]) -> list[Record]:
    """One record for each call."""
    return list({(record.group, record.seq, record.p2p): record for record in records}.values())


def _deadlock(world: World, graph: Waits, circle: tuple[int, ...]) -> Verdict:
    """Of a circle those are to blame that never went this way before, if the others did; else those that stand
    elsewhere than most; else all."""
    calls: dict[tuple[Group, int], list[int]] = defaultdict(list)
    for rank in world.dumps:
        for record in world.stand(rank)[:1]:
            calls[record.group, record.seq].append(rank)
    crowd = {rank: len(ranks) for ranks in calls.values() for rank in ranks}
    most = max(crowd[rank] for rank in circle)
    odd = [rank for rank in circle if _new_way(world, rank)]
    if not odd or len(odd) == len(circle):
        odd = [rank for rank in circle if crowd[rank] < most]
    if not odd:
        odd = list(circle)
    return Verdict(Kind.DEADLOCK, dict.fromkeys(odd, Kind.DEADLOCK), graph, circle=circle)


def _new_way(world: World, rank: int) -> bool:
    """Did the rank come to its unfinished call by a step from one call to another that it never made before? Others
    may make it all the time, as the stages of a pipeline differ; but not have begun with it earlier."""
    own = world.dumps[rank]
    for way in dict.fromkeys(own.ways):
        counts = [(dump.steps.get(way, 0), dump.ways.count(way), dump is not own) for dump in world.dumps.values()]
        routine = ROUTINE if len(own.ways) > 1 else len(world.dumps) * max(own.entries, 1)
        if all(times <= late or (other and times > routine) for times, late, other in counts):
            return True
    return False
