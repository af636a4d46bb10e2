"""What shows that a rank is to blame: its own call, and the calls of those that wait for it, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from doctor.facts.model import Source
from doctor.facts.ranks import names
from doctor.facts.said import Part, Said, said, words
from probes.files.flight_recorder.mismatch import Mismatch
from probes.files.flight_recorder.model import Record, Shape
from probes.files.flight_recorder.verdict import Kind, Verdict
from probes.files.flight_recorder.waits import Wait, Why
from probes.files.flight_recorder.world import World

SHOWN_PEERS = 2
SHOWN_LINES = 8


def source(world: World, rank: int, text: Said) -> Source:
    dump = world.dumps.get(rank)
    return Source("flight_recorder", dump.path if dump else "", 0, words(text), text)


def proof(world: World, found: Verdict, rank: int, awaiting: Sequence[Wait]) -> tuple[Source, ...]:
    """The lines that show why `rank` is a culprit, its own first; `awaiting` are the waits for it."""
    if found.clash is not None:
        return tuple(_sides(world, found.clash, rank))
    lines = [*_own(world, found, rank, awaiting)]
    callers: dict[tuple[str, Why], list[Wait]] = defaultdict(list)
    for wait in awaiting:
        callers[wait.record.title, wait.why].append(wait)
    for (_, why), waits in sorted(callers.items(), key=lambda item: -len(item[1]))[:SHOWN_PEERS]:
        first = waits[0]
        who = names(wait.waiter for wait in waits)
        told = said(
            "fr.waits_for", who=who, call=call(first.record), rank=rank, why=_why(why), at=_at(first.record.frame)
        )
        lines.append(source(world, first.waiter, told))
    return tuple(lines)


def _own(world: World, found: Verdict, rank: int, awaiting: Sequence[Wait]) -> Iterator[Source]:
    dump = world.dumps.get(rank)
    if dump is None:
        yield source(world, rank, said("fr.no_dump", rank=rank, n=len(world.dumps)))
        return
    stand = next(iter(world.stand(rank)), None)
    if stand is None:
        numbered, _, group = dump.last.partition(" in ")
        op, _, seq = numbered.rpartition(" ")
        last: Part = said("fr.last", call=said("fr.call", op=op, way="", seq=seq, group=group)) if op else ""
        hidden: Part = said("fr.hidden") if dump.unrecorded else ""
        came = _came_to(world, awaiting, rank)
        yield source(world, rank, said("fr.idle", rank=rank, came=came, last=last, hidden=hidden, at=_at(dump.frame)))
        return
    told = said("fr.stands", rank=rank, call=call(stand), id=stand.id, state=stand.state, at=_at(stand.frame))
    yield source(world, rank, told)
    for record in dump.pending if found.faults[rank] is Kind.GPU else ():
        over = [p for p in world.members[record.group] if p in world.dumps and _over(world, p, record)]
        if over and not record.p2p:
            yield source(world, over[0], said("fr.over", call=call(record), who=names(over), rank=rank))
            return


def _came_to(world: World, awaiting: Sequence[Wait], rank: int) -> Part:
    """How far it came in the group that most others wait in."""
    records = [wait.record for wait in awaiting if not wait.record.p2p]
    if not records:
        return ""
    group = Counter(record.group for record in records).most_common(1)[0][0]
    place = world.places[rank].get(group)
    return said("fr.came", seq=place.enqueued if place else 0, group=group.title)


def _over(world: World, rank: int, record: Record) -> bool:
    return not record.p2p and world.passed(rank, record.group, record.seq)


def _sides(world: World, clash: Mismatch, rank: int) -> Iterator[Source]:
    """What the culprit brought, then what each of the others did."""
    sides: dict[Shape, list[int]] = defaultdict(list)
    for member, shape in clash.shapes.items():
        sides[shape].append(member)
    for shape, members in sorted(sides.items(), key=lambda side: rank not in side[1])[: SHOWN_PEERS + 1]:
        who = rank if rank in members else members[0]
        at = _at(world.dumps[who].lanes[clash.group].sites.get(clash.seq, ""))
        told = said("fr.side", who=names(members), seq=clash.seq, group=clash.group.title, shape=in_words(shape), at=at)
        yield source(world, who, told)


def call(record: Record) -> Said:
    """The call in words."""
    way: Part = ""
    if record.p2p and record.peer >= 0:
        way = said("fr.to" if record.sends else "fr.from", peer=record.peer)
    return said("fr.call", op=record.op, way=way, seq=record.seq, group=record.group.title)


def _at(frame: str) -> Part:
    return said("fr.at", place=frame) if frame else ""


def _why(why: Why) -> Said:
    return said(f"fr.why.{why.name}")


def in_words(shape: Shape) -> Said:
    sizes = f"{shape.elements_in}" if shape.elements_in == shape.elements_out else ""
    sizes = sizes or f"{shape.elements_in} -> {shape.elements_out}"
    return said("fr.shape", op=shape.op, sizes=sizes, types=shape.dtypes or "elements")


def waits_in_words(found: Verdict) -> list[Said]:
    """Who waits for whom, one line for each kind of call, those that wait for a culprit first."""
    lines: dict[tuple[str, str, Why], list[Wait]] = defaultdict(list)
    for out in found.graph.values():
        for wait in out:
            lines[wait.record.group.title, wait.record.op, wait.why].append(wait)
    order = sorted(lines.items(), key=lambda item: (-_straight(found, item[1]), -len(item[1])))
    told = []
    for (title, op, why), waits in order[:SHOWN_LINES]:
        numbers = {wait.record.seq for wait in waits}
        number = f" {min(numbers)}" if len(numbers) == 1 else ""
        who, whom = names(w.waiter for w in waits), names(w.awaited for w in waits)
        told.append(said("fr.waits", who=who, whom=whom, op=op, seq=number, group=title, why=_why(why)))
    return told


def _straight(found: Verdict, waits: list[Wait]) -> float:
    """The share of them that is for a culprit itself."""
    return sum(wait.awaited in found.faults for wait in waits) / len(waits)
