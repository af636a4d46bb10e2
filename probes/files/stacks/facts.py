"""Where the ranks stand and who holds them up, as facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.ranks import names
from probes.files.stacks.model import Frame
from probes.files.stacks.verdict import GONE, OTHER, RankStack, Verdict

SHOWN_PEERS = 3


def facts(
    ranks: Sequence[RankStack], found: Verdict, sources: Mapping[int, Source], watched: float | None = None
) -> Iterator[Fact]:
    """Everything that the stacks of one job say; `sources` tell where each rank's was read, `watched` for how long."""
    where = next(iter(sources.values()), Source("stacks"))
    values: dict[str, Value] = {
        "stack.verdict": found.kind,
        "stack.culprits": tuple(sorted(found.faults)),
        "stack.waiting": found.waiting,
        "stack.waits_in": found.place,
    }
    if watched is not None:
        values["stack.watched"] = round(watched, 2)
        values["stack.stands"] = bool(found.waiting) and all(r.still for r in ranks if r.rank in found.waiting)
    for name, value in values.items():
        if value not in ((), ""):
            yield _fact(name, value, "job", Source(where.kind, where.path, 0, f"stacks of {len(ranks)} ranks"))
    for rank in ranks:
        yield from _rank(rank, sources[rank.rank])
    known = {rank.rank: rank for rank in ranks}
    for culprit, fault in sorted(found.faults.items()):
        lines = tuple(_proof(culprit, fault, known, found, sources))
        yield Fact("stack.fault", fault, f"rank:{culprit}", lines[0], None, Quality.MEASURED, lines)


def _rank(rank: RankStack, source: Source) -> Iterator[Fact]:
    entity = f"rank:{rank.rank}"
    shown = Source(source.kind, source.path, source.line, f"rank {rank.rank} stands in {_place(rank)}")
    yield _fact("stack.doing", str(rank.stand.doing), entity, shown)
    yield _fact("stack.frame", rank.stand.frame.title, entity, shown)
    yield _fact("stack.frames", tuple(frame.title for frame in reversed(rank.frames)), entity, shown)
    if rank.stand.op:
        yield _fact("stack.op", rank.stand.op, entity, shown)
    if rank.moved is not None:
        yield _fact("stack.moved", rank.moved, entity, shown)


def _proof(
    culprit: int, fault: str, known: Mapping[int, RankStack], found: Verdict, sources: Mapping[int, Source]
) -> Iterator[Source]:
    """The culprit's own place first, then the places of those that wait."""
    own = sources.get(culprit) or next(iter(sources.values()), Source("stacks"))
    if fault == GONE:
        yield Source(own.kind, own.path, 0, f"rank {culprit} has no process on this node; the others of it run")
    elif fault == OTHER:
        yield Source(
            own.kind, own.path, own.line, f"rank {culprit} stands in {_place(known[culprit])}, unlike the others"
        )
    else:
        yield Source(own.kind, own.path, own.line, f"rank {culprit} stands in {_place(known[culprit])}")
    places: dict[str, list[int]] = defaultdict(list)
    for rank in found.waiting:
        places[_place(known[rank])].append(rank)
    for place, members in sorted(places.items(), key=lambda item: -len(item[1]))[:SHOWN_PEERS]:
        source = sources[members[0]]
        yield Source(
            source.kind,
            source.path,
            source.line,
            f"{names(members)} {'waits' if len(members) == 1 else 'wait'} in {place}",
        )


def _place(rank: RankStack) -> str:
    """The way from the user's frame inwards: load_batch (train.py:5), called from train (train.py:26)."""
    frames = list(rank.frames)
    own = frames.index(rank.stand.frame) if rank.stand.frame in frames else 0
    caller = next((frame for frame in frames[own + 1 :] if not frame.native), None)
    head = f"{rank.stand.op}, called from " if rank.stand.op else ""
    head += _inner(frames[:own]) if not rank.stand.op else ""
    return head + rank.stand.frame.title + (f", called from {caller.title}" if caller and not rank.stand.op else "")


def _inner(frames: Sequence[Frame]) -> str:
    """The library's function that the user's frame is in."""
    library = next((frame for frame in reversed(frames) if not frame.native), None)
    return f"{library.title}, called from " if library else ""


def _fact(name: str, value: Value, entity: str, source: Source) -> Fact:
    return Fact(name, value, entity, source, None, Quality.MEASURED)
