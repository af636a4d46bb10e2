"""What shows that a rank is to blame: its own call, and the calls of those that wait for it, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from doctor.facts.model import Source
from probes.files.flight_recorder.mismatch import Mismatch
from probes.files.flight_recorder.model import Record, Shape
from probes.files.flight_recorder.verdict import Kind, Verdict
from probes.files.flight_recorder.waits import Wait
from probes.files.flight_recorder.world import World

SHOWN_PEERS = 2
SHOWN_LINES = 8
MOST_NAMES = 12


def source(world: World, rank: int, text: str) -> Source:
    dump = world.dumps.get(rank)
    return Source("flight_recorder", dump.path if dump else "", 0, text)


def proof(world: World, found: Verdict, rank: int) -> tuple[Source, ...]:
    """The lines that show why `rank` is a culprit, its own first."""
    if found.clash is not None:
        return tuple(_sides(world, found.clash, rank))
    lines = [*_own(world, found, rank)]
    callers: dict[tuple[str, str], list[Wait]] = defaultdict(list)
    for out in found.graph.values():
        for wait in out:
            if wait.awaited == rank:
                callers[wait.record.title, wait.why].append(wait)
    for (title, why), waits in sorted(callers.items(), key=lambda item: -len(item[1]))[:SHOWN_PEERS]:
        first = waits[0]
        who = names(wait.waiter for wait in waits)
        place = f", at {first.record.frame}" if first.record.frame else ""
        lines.append(source(world, first.waiter, f"{who} in {title} for rank {rank}, which {why}{place}"))
    return tuple(lines)


def _own(world: World, found: Verdict, rank: int) -> Iterator[Source]:
    dump = world.dumps.get(rank)
    if dump is None:
        yield source(world, rank, f"rank {rank} left no dump; {len(world.dumps)} others did")
        return
    stand = next(iter(world.stand(rank)), None)
    if stand is None:
        text = f"rank {rank} has no unfinished call{_came_to(world, found, rank)}"
        text += f"; its last call was {dump.last}" if dump.last else ""
        text += "; it makes sends or receives as well, of which none is recorded" if dump.unrecorded else ""
        yield source(world, rank, text + (f", at {dump.frame}" if dump.frame else ""))
        return
    text = f"rank {rank} stands in {stand.title} (record {stand.id}, {stand.state})"
    yield source(world, rank, text + (f", at {stand.frame}" if stand.frame else ""))
    for record in dump.pending if found.faults[rank] is Kind.GPU else ():
        over = [p for p in world.members[record.group] if p in world.dumps and _over(world, p, record)]
        if over and not record.p2p:
            yield source(world, over[0], f"{record.title} is over for {names(over)}, but not for rank {rank}")
            return


def _came_to(world: World, found: Verdict, rank: int) -> str:
    """How far it came in the group that most others wait in."""
    records = [w.record for out in found.graph.values() for w in out if w.awaited == rank and not w.record.p2p]
    if not records:
        return ""
    group = Counter(record.group for record in records).most_common(1)[0][0]
    place = world.places[rank].get(group)
    return f"; it came to {place.enqueued if place else 0} in {group.title}"


def _over(world: World, rank: int, record: Record) -> bool:
    return not record.p2p and world.passed(rank, record.group, record.seq)


def _sides(world: World, clash: Mismatch, rank: int) -> Iterator[Source]:
    """What the culprit brought, then what each of the others did."""
    sides: dict[Shape, list[int]] = defaultdict(list)
    for member, shape in clash.shapes.items():
        sides[shape].append(member)
    for shape, members in sorted(sides.items(), key=lambda side: rank not in side[1])[: SHOWN_PEERS + 1]:
        who = rank if rank in members else members[0]
        frame = world.dumps[who].lanes[clash.group].sites.get(clash.seq, "")
        place = f", at {frame}" if frame else ""
        yield source(
            world, who, f"{names(members)}: number {clash.seq} of {clash.group.title} is {shown(shape)}{place}"
        )


def shown(shape: Shape) -> str:
    sizes = f"{shape.elements_in}" if shape.elements_in == shape.elements_out else ""
    sizes = sizes or f"{shape.elements_in} -> {shape.elements_out}"
    return f"{shape.op} of {sizes} {shape.dtypes or 'elements'}"


def names(ranks: Iterable[int]) -> str:
    """rank 3, ranks 0-2, 5."""
    parts: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    shown = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in parts]
    text = ", ".join(shown[:MOST_NAMES]) + (", …" if len(shown) > MOST_NAMES else "")
    return f"rank {text}" if text.isdecimal() else f"ranks {text}"


def waits_in_words(found: Verdict) -> list[str]:
    """Who waits for whom, one line for each kind of call, those that wait for a culprit first."""
    lines: dict[tuple[str, str, str], list[Wait]] = defaultdict(list)
    for out in found.graph.values():
        for wait in out:
            lines[wait.record.group.title, wait.record.op, wait.why].append(wait)
    order = sorted(lines.items(), key=lambda item: (-_straight(found, item[1]), -len(item[1])))
    told = []
    for (title, op, why), waits in order[:SHOWN_LINES]:
        numbers = {wait.record.seq for wait in waits}
        number = f" {min(numbers)}" if len(numbers) == 1 else ""
        who, whom = names(w.waiter for w in waits), names(w.awaited for w in waits)
        told.append(f"{who} -> {whom}: {op}{number} in {title} ({why})")
    return told


def _straight(found: Verdict, waits: list[Wait]) -> float:
    """The share of them that is for a culprit itself."""
    return sum(wait.awaited in found.faults for wait in waits) / len(waits)
