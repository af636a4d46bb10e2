"""Which layers every pipeline rank holds, and in what pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from doctor.planner.errors import PlanError, reason
from doctor.planner.job import Job, Schedule
from doctor.planner.layout import Layout
from doctor.planner.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Consecutive layers that run as one: `layers` of them from number `first`; the model's ends where it has them."""

    first: int
    layers: int
    embedding: bool
    head: bool


@dataclass(frozen=True, slots=True)
class Part:
    """What a micro-batch meets on one pipeline rank: plain layers, layers with experts, embeddings and heads."""

    dense: float
    moe: float
    embedding: float
    head: float

    @property
    def layers(self) -> float:
        return self.dense + self.moe


def like(shape: Shape, chunk: Chunk) -> tuple[int, ...]:
    """The same for chunks that hold the same kinds of layers, as many of each, and the same ends."""
    moe = shape.moe
    uniform = moe is None or (moe.every == 1 and chunk.first >= moe.dense_layers)
    return (-1 if uniform else chunk.first, chunk.layers, chunk.embedding, chunk.head)


def alike(shape: Shape, first: int, layers: int) -> tuple[tuple[int, int], ...]:
    """Layers from number `first` on by kind, with experts or without: the number of one of them, and how many."""
    moe = shape.moe
    if layers <= 0:
        return ()
    if moe is None:
        return ((first, layers),)
    if moe.every > 1:
        return _alike(shape, first, layers)
    plain = min(layers, max(0, moe.dense_layers - first))
    if plain in (0, layers):
        return ((first, layers),)
    return ((first, plain), (first + plain, layers - plain))


@lru_cache(maxsize=65536)
def _alike(shape: Shape, first: int, layers: int) -> tuple[tuple[int, int], ...]:
    found: dict[bool, tuple[int, int]] = {}
    for number in range(first, first + layers):
        moe = shape.is_moe(number)
        found[moe] = (number, found.get(moe, (0, 0))[1] + 1)
    return tuple(found.values())


def stages(job: Job) -> tuple[tuple[Chunk, ...], ...]:
    """The chunks of every pipeline rank, in the order in which a micro-batch meets them.

    Interleaved: rank s holds chunks s, s+p, s+2p ... (Narayanan et al., SC21, section 2.2). ZB-V: chunks s and 2p-1-s,
    so that rank 0 has both ends of the model (Qi et al., arXiv 2405.15362). DualPipe: stages s and p-1-s, so that
    every parameter is there twice (DeepSeek-V3, arXiv 2412.19437, section 3.2.1).
    """
    return _stages(job.shape.layers, job.schedule, *_cut(job.layout))


@lru_cache(maxsize=4096)
def _stages(layers: int, schedule: Schedule, p: int, *cut: Any) -> tuple[tuple[Chunk, ...], ...]:
    """Depends on no more than this, so that a search asks once for many jobs."""
    parts = _chunks(_split(layers, schedule, p, *cut))
    if schedule is Schedule.ZB_V and p > 1:
        return tuple((parts[stage], parts[2 * p - 1 - stage]) for stage in range(p))
    if schedule is Schedule.DUALPIPE and p > 1:
        return tuple((parts[stage], parts[p - 1 - stage]) for stage in range(p))
    return tuple(tuple(parts[stage::p]) for stage in range(p))


def parts(job: Job) -> tuple[Part, ...]:
    """What a micro-batch meets on every pipeline rank. With DualPipe every layer is there twice, and it meets one of
    the two."""
    return _parts(job.shape, job.schedule, *_cut(job.layout))


@lru_cache(maxsize=4096)
def _parts(shape: Shape, schedule: Schedule, p: int, *cut: Any) -> tuple[Part, ...]:
    share = 0.5 if schedule is Schedule.DUALPIPE and p > 1 else 1.0
    found = []
    for rank in _stages(shape.layers, schedule, p, *cut):
        kinds = [kind for chunk in rank for kind in alike(shape, chunk.first, chunk.layers)]
        moe = share * sum(count for layer, count in kinds if shape.is_moe(layer))
        layers = share * sum(count for _, count in kinds)
        ends = [share * sum(getattr(chunk, end) for chunk in rank) for end in ("embedding", "head")]
        found.append(Part(layers - moe, moe, *ends))
    return tuple(found)


def split(job: Job) -> tuple[int, ...]:
    """Layers of every chunk in the order of the model.

    Where layers do not divide but would with two more, the first and the last chunk have one fewer, beside embedding
    and head (Llama 3, arXiv 2407.21783, section 3.3.2). What does not divide otherwise goes to the first chunks.
    """
    return _split(job.shape.layers, job.schedule, *_cut(job.layout))


def _cut(layout: Layout) -> tuple[int, int, int, int, tuple[int, ...]]:
    return layout.pp, layout.vpp, layout.first, layout.last, layout.chunks


def _split(
    layers: int, schedule: Schedule, pp: int, vpp: int, first: int, last: int, chunks: tuple[int, ...]
) -> tuple[int, ...]:
    per_rank = vpp
    if pp > 1 and schedule in (Schedule.ZB_V, Schedule.DUALPIPE):
        per_rank = 2 if schedule is Schedule.ZB_V else 1
    count = pp * per_rank
    if chunks:
        if sum(chunks) != layers:
            raise PlanError(reason("reason.chunks.layers", held=sum(chunks), layers=layers))
        return chunks
    given = first + last
    free = count - (bool(first) + bool(last)) * per_rank
    if not given and count > 1 and layers % count and (layers + 2) % count == 0:
        size = (layers + 2) // count
        return (size - 1, *(size,) * (count - 2), size - 1)
    if count > layers or given > layers or (given and free <= 0 and given != layers):
        raise PlanError(reason("reason.chunks.empty", layers=layers, pp=pp, vpp=per_rank, count=count))
    if not given:
        return _even(layers, count)
    inner = iter(_even(layers - given, free) if free > 0 else ())
    ends = {}
    if first:
        ends[0] = iter(_even(first, per_rank))
    if last:
        ends[pp - 1] = iter(_even(last, per_rank))
    return tuple(next(ends.get(chunk % pp, inner)) for chunk in range(count))


def _chunks(sizes: tuple[int, ...]) -> list[Chunk]:
    parts, start = [], 0
    for number, layers in enumerate(sizes):
        ends = (number == 0, number == len(sizes) - 1)
        parts.append(Chunk(first=start, layers=layers, embedding=ends[0], head=ends[1]))
        start += layers
    return parts


def _even(layers: int, parts: int) -> tuple[int, ...]:
    return tuple(layers // parts + (number < layers % parts) for number in range(parts))
