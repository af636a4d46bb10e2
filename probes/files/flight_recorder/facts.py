"""The verdict and what each rank was doing, as facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.ranks import names
from doctor.facts.said import said, words
from probes.files.flight_recorder.loads import loads
from probes.files.flight_recorder.proof import in_words, proof, source, waits_in_words
from probes.files.flight_recorder.verdict import Verdict
from probes.files.flight_recorder.waits import Wait
from probes.files.flight_recorder.world import World

MOST_EDGES = 20_000
MOST_GROUPS = 40
MOST_CULPRITS = 2_000
"""Of so many it is told what each did: a group may name any number of ranks that left no dump."""


def facts(world: World, found: Verdict) -> Iterator[Fact]:
    """Everything that the dumps of one moment say."""
    yield from _job(world, found)
    told = sorted(found.faults)[:MOST_CULPRITS]
    awaiting: dict[int, list[Wait]] = {rank: [] for rank in told}
    for wait in chain.from_iterable(found.graph.values()):
        if wait.awaited in awaiting:
            awaiting[wait.awaited].append(wait)
    for rank in told:
        lines = proof(world, found, rank, awaiting[rank])
        op = _op(found, rank, awaiting[rank])
        yield Fact("fr.fault", str(found.faults[rank]), f"rank:{rank}", lines[0], None, Quality.MEASURED, lines)
        yield Fact("fr.fault_op", op, f"rank:{rank}", lines[0], None, Quality.MEASURED)
    for rank in world.dumps:
        yield from _rank(world, found, rank)
    yield from _loads(world)


def _op(found: Verdict, rank: int, awaiting: Iterable[Wait]) -> str:
    if found.clash is not None:
        return found.clash.shapes[rank].op
    ops = Counter(wait.record.op for wait in awaiting)
    return ops.most_common(1)[0][0] if ops else "unknown"


def _job(world: World, found: Verdict) -> Iterator[Fact]:
    first = source(world, min(world.dumps), said("fr.of_ranks", n=len(world.dumps)))
    values: dict[str, Value] = {
        "fr.files": len(world.dumps),
        "fr.ranks": tuple(world.dumps),
        "fr.absent_ranks": world.absent,
        "fr.absent_share": len(world.absent) / max(len(world.ranks), 1),
        "fr.world_size": len(world.ranks),
        "fr.verdict": str(found.kind),
        "fr.culprits": tuple(sorted(found.faults)),
        "fr.versions": tuple(sorted({dump.version for dump in world.dumps.values()})),
        "fr.backends": tuple(sorted({name for dump in world.dumps.values() for name in dump.backends if name})),
    }
    for name, value in values.items():
        if value != ():
            yield Fact(name, value, "job", first, None, Quality.MEASURED)
    if found.clash is not None:
        sides = {
            words(in_words(shape)): [r for r, s in found.clash.shapes.items() if s == shape]
            for shape in found.clash.shapes.values()
        }
        text = "; ".join(
            f"{names(ranks)}: {call}" for call, ranks in sorted(sides.items(), key=lambda side: len(side[1]))
        )
        yield Fact("fr.clash", f"number {found.clash.seq} of {found.clash.group.title}: {text}", "job", first)
    if found.circle:
        yield Fact("fr.circle", found.circle, "job", first, None, Quality.MEASURED)
    if found.stalled:
        record = found.stalled[0]
        yield Fact("fr.stalled_call", record.title, "job", first, None, Quality.MEASURED)
        yield Fact("fr.stalled_ranks", world.members.get(record.group, ()), "job", first, None, Quality.MEASURED)
    edges = tuple(
        f"{wait.waiter} > {wait.awaited}: {wait.record.title} ({wait.why})"
        for wait in islice(chain.from_iterable(found.graph.values()), MOST_EDGES)
    )
    if edges:
        yield Fact("fr.wait_graph", edges, "job", first, None, Quality.MEASURED)
        lines = waits_in_words(found)
        shown = tuple(Source("flight_recorder", first.path, 0, words(line), line) for line in lines)
        yield Fact("fr.waits", tuple(words(line) for line in lines), "job", shown[0], None, Quality.MEASURED, shown)


def _rank(world: World, found: Verdict, rank: int) -> Iterator[Fact]:
    dump = world.dumps[rank]
    entity, stand = f"rank:{rank}", next(iter(world.stand(rank)), None)
    text = stand.title if stand else f"no unfinished call; {dump.last or 'nothing recorded'}"
    where = Source("flight_recorder", dump.path, 0, f"rank {rank}: {text}")
    done = sorted((group.title, place.done) for group, place in world.places[rank].items())
    values: dict[str, Value] = {
        "fr.entries": dump.entries,
        "fr.pending_count": len(dump.pending),
        "fr.last_done": tuple(f"{title} {number}" for title, number in done[:MOST_GROUPS]),
        "fr.last_call": dump.last,
        "fr.frame": stand.frame if stand else dump.frame,
        "fr.waits_for": tuple(sorted({wait.awaited for wait in found.graph[rank]})),
    }
    if stand is not None:
        values |= {"fr.pending": stand.title, "fr.state": "timed out" if stand.timed_out else stand.state}
    for name, value in values.items():
        if value not in ((), ""):
            yield Fact(name, value, entity, where, None, Quality.MEASURED)


def _loads(world: World) -> Iterator[Fact]:
    """How uneven the all-to-alls are, of the group that is so most; the load of each of its ranks."""
    worst = max(loads(world), key=lambda load: load.uneven, default=None)
    if worst is None:
        return
    busiest = max(worst.elements, key=lambda rank: worst.elements[rank])
    text = f"rank {busiest} gets {worst.elements[busiest]} elements in {worst.calls} all-to-alls of {worst.group.title}"
    where = Source("flight_recorder", world.dumps[busiest].path, 0, text)
    yield Fact("experts.alltoall_calls", worst.calls, "job", where, None, Quality.MEASURED)
    yield Fact("experts.alltoall_max_over_mean", worst.uneven, "job", where, None, Quality.MEASURED)
    yield Fact("moe.tokens_per_rank_max_over_mean", worst.uneven, "job", where, None, Quality.MEASURED)
    for rank, elements in worst.elements.items():
        own = Source("flight_recorder", world.dumps[rank].path, 0, f"rank {rank} gets {elements} elements")
        yield Fact("experts.alltoall_elements", elements, f"rank:{rank}", own, None, Quality.MEASURED)
