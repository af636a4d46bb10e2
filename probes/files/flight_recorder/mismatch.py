"""Ranks that bring different things to one collective: another operation, another size, another type."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from probes.files.flight_recorder.model import Dump, Group, Lane, Shape
from probes.files.flight_recorder.world import World

UNEVEN = ("all_to_all", "alltoall", "coalesced", "send", "recv")
"""Calls whose sizes may differ from rank to rank."""

RECENT = 2
"""A difference that all ranks got past matters when no more calls than this came after it in its group."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """`kind` is type, size or dtype; `shapes` what each rank brought, `ranks` those that differ from the rest."""

    kind: str
    group: Group
    seq: int
    shapes: dict[int, Shape]
    ranks: tuple[int, ...]


def mismatch(world: World) -> Mismatch | None:
    """The first difference at the end of the groups' histories: of those in one group the lowest number, of several
    groups the one that stops most ranks."""
    same: dict[Shape, Shape] = {}
    found = [clash for group in world.members for clash in _first(world, group, same)]
    found = [clash for clash in found if _matters(world, clash)]
    order = {"type": 0, "dtype": 1, "size": 2}
    return min(found, key=lambda c: (_over(world, c), order[c.kind], -len(c.shapes)), default=None)


def _over(world: World, clash: Mismatch) -> bool:
    return all(world.passed(rank, clash.group, clash.seq) for rank in clash.shapes)


def _matters(world: World, clash: Mismatch) -> bool:
    after = max(world.places[rank][clash.group].enqueued for rank in clash.shapes) - clash.seq
    return after <= RECENT or not _over(world, clash)


def _first(world: World, group: Group, same: dict[Shape, Shape]) -> Iterator[Mismatch]:
    lanes = {rank: dump.lanes[group] for rank, dump in world.dumps.items() if group in dump.lanes}
    if len(lanes) < 2:
        return
    base = max(lanes, key=lambda rank: len(lanes[rank].seqs))
    parts = {rank: _parts(world.dumps[rank], lane, same) for rank, lane in lanes.items()}
    worst: int | None = None
    for rank, lane in lanes.items():
        if rank != base and (seq := _differs(lanes[base], parts[base], lane, parts[rank])) is not None:
            worst = seq if worst is None else min(seq, worst)
    if worst is None:
        return
    shapes = {r: world.dumps[r].shapes[n] for r, lane in lanes.items() if (n := _at(lane, worst)) is not None}
    kinds = {kind for one in shapes.values() for two in shapes.values() if (kind := clash(one, two))}
    kind = next(kind for kind in ("type", "dtype", "size") if kind in kinds)
    yield Mismatch(kind, group, worst, shapes, _odd_ones(world, kind, shapes))


def _parts(dump: Dump, lane: Lane, same: dict[Shape, Shape]) -> list[Shape]:
    """What must agree of each collective of the lane, equal ones as one object (`same`); sizes that may differ are
    left out."""
    part = {}
    for number, shape in dump.shapes.items():
        agreeing = Shape(shape.op, shape.dtypes, 0, 0) if shape.op.startswith(UNEVEN) else shape
        part[number] = same.setdefault(agreeing, agreeing)
    return list(map(part.__getitem__, lane.shapes))


def _differs(one: Lane, ours: list[Shape], two: Lane, theirs: list[Shape]) -> int | None:
    """The first number at which two ranks differ; equal stretches are compared as a whole."""
    low, high = max(one.seqs[0], two.seqs[0]), min(one.seqs[-1], two.seqs[-1])
    left = slice(bisect_left(one.seqs, low), bisect_right(one.seqs, high))
    right = slice(bisect_left(two.seqs, low), bisect_right(two.seqs, high))
    if one.seqs[left] == two.seqs[right] and ours[left] == theirs[right]:
        return None
    known = dict(zip(two.seqs[right], theirs[right], strict=True))
    for seq, part in zip(one.seqs[left], ours[left], strict=True):
        other = known.get(seq, part)
        if other != part and clash(part, other):
            return seq
    return None


def _at(lane: Lane, seq: int) -> int | None:
    place = bisect_left(lane.seqs, seq)
    return lane.shapes[place] if place < len(lane.seqs) and lane.seqs[place] == seq else None


def clash(one: Shape, two: Shape) -> str:
    """How two ranks' parts in one collective contradict each other; "" when they do not."""
    if one.op != two.op:
        return "type"
    if one.dtypes and two.dtypes and one.dtypes != two.dtypes:
        return "dtype"
    if one.op.startswith(UNEVEN):
        return ""
    if one.elements_in != two.elements_in and not one.op.startswith("scatter"):
        return "size"
    if one.elements_out != two.elements_out and not one.op.startswith(("gather", "reduce_", "reduce")):
        return "size"
    if one.op.startswith("reduce_scatter") and one.elements_out != two.elements_out:
        return "size"
    return ""


def _odd_ones(world: World, kind: str, shapes: dict[int, Shape]) -> tuple[int, ...]:
    """The ranks that brought what the fewest did; among equals, what was never seen before; else all of them."""
    sides: dict[object, list[int]] = defaultdict(list)
    for rank, shape in shapes.items():
        side = {"type": shape.op, "dtype": shape.dtypes}.get(kind, shape)
        sides[side].append(rank)
    counts = sorted(sides.values(), key=len)
    if len(counts[-1]) > len(counts[-2]):
        return tuple(sorted(rank for ranks in counts[:-1] for rank in ranks))
    seen: Counter[object] = Counter()
    for dump in world.dumps.values():
        for lane in dump.lanes.values():
            for number, times in Counter(lane.shapes).items():
                shape = dump.shapes[number]
                seen[{"type": shape.op, "dtype": shape.dtypes}.get(kind, shape)] += times
    new = [ranks for side, ranks in sides.items() if seen[side] <= len(ranks)]
    if len(new) == len(sides):
        new = []
    return tuple(sorted(rank for ranks in new or counts for rank in ranks))
