"""What ranks themselves say that they do differently: fingerprints of collectives, and numbers of batches.

With TORCH_DISTRIBUTED_DEBUG=DETAIL each rank prints the collective it is in. Versions before 2.0 print one rank a
line, so two lines have to be put beside each other; later ones name both ranks, and from 2.1 also the difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("event:torch.collective_mismatch", "event:train.rank_batches", "event:train.rank_numel")
GIVES = ("mismatch.ops_differ", "mismatch.seqs_differ", "mismatch.shapes_differ", "train.batches_differ")

SHOWN = 4


@dataclass(frozen=True, slots=True)
class Print:
    """The collective a rank is in, as it prints it; what its version leaves out is None."""

    rank: int
    op: str | None
    seq: int | None
    shape: str | None
    source: Source


def derive(store: FactStore) -> Iterator[Fact]:
    """The facts of each run whose ranks report differing collectives or batch counts."""
    yield from _fingerprints(store)
    yield from _batches(store)
    yield from _sizes(store)


def _fingerprints(store: FactStore) -> Iterator[Fact]:
    runs: dict[str, list[Print]] = defaultdict(list)
    for event in store.events("torch.collective_mismatch"):
        runs[event.run] += [found for prefix in ("", "other_") if (found := _print(event, prefix)) is not None]
    for run, prints in runs.items():
        # a rank is compared with others by what it said first
        first = {p.rank: p for p in reversed(prints)}
        if len(first) < 2:
            continue
        ops = {p.op for p in first.values() if p.op}
        seqs = {p.seq for p in first.values() if p.seq is not None}
        shapes = {p.shape for p in first.values() if p.shape is not None}
        because = tuple(dict.fromkeys(p.source for p in first.values()))[:SHOWN]
        if ops:
            yield _fact("mismatch.ops_differ", len(ops) > 1, run, because)
        if seqs:
            yield _fact("mismatch.seqs_differ", len(seqs) > 1, run, because)
        if shapes:
            yield _fact("mismatch.shapes_differ", len(ops) < 2 and len(seqs) < 2 and len(shapes) > 1, run, because)


def _print(event: Event, prefix: str) -> Print | None:
    rank, op = event.fields.get(f"{prefix}rank"), event.fields.get(f"{prefix}op")
    seq, shape = event.fields.get(f"{prefix}seq"), event.fields.get(f"{prefix}shape")
    if not isinstance(rank, int) or not isinstance(op, str):
        return None
    known = shape if isinstance(shape, str) else None
    return Print(rank, op, seq if isinstance(seq, int) else None, known, event.source)


def _sizes(store: FactStore) -> Iterator[Fact]:
    """Do ranks print different sizes of the tensor they bring to one collective, each its first?"""
    runs: dict[str, dict[int, tuple[int, Source]]] = defaultdict(dict)
    for event in store.events("train.rank_numel"):
        rank, numel = event.fields.get("of_rank", event.rank), event.fields.get("numel")
        if isinstance(rank, int) and isinstance(numel, int):
            runs[event.run].setdefault(rank, (numel, event.source))
    for run, ranks in runs.items():
        if len(ranks) > 1:
            differ = len({numel for numel, _ in ranks.values()}) > 1
            yield _fact("mismatch.shapes_differ", differ, run, tuple(source for _, source in ranks.values())[:SHOWN])


def _batches(store: FactStore) -> Iterator[Fact]:
    """Do ranks that each state one number of batches state different ones?"""
    runs: dict[str, dict[int, dict[int, Source]]] = defaultdict(lambda: defaultdict(dict))
    for event in store.events("train.rank_batches"):
        rank, batches = event.fields.get("of_rank", event.rank), event.fields.get("batches")
        if isinstance(rank, int) and isinstance(batches, int):
            runs[event.run][rank].setdefault(batches, event.source)
    for run, ranks in runs.items():
        # a rank with several numbers counts its progress, and excerpts cut that off anywhere
        single = {rank: next(iter(found.items())) for rank, found in ranks.items() if len(found) == 1}
        if len(single) > 1 and len(single) == len(ranks):
            counts = {number for number, _ in single.values()}
            yield _fact("train.batches_differ", len(counts) > 1, run, [source for _, source in single.values()])


def _fact(name: str, value: bool, run: str, because: Sequence[Source]) -> Fact:
    entity = run if run == "job" or run.startswith("run:") else f"run:{run}"
    return Fact(name, value, entity, Source("derived"), quality=Quality.DERIVED, because=tuple(because)[:SHOWN])
