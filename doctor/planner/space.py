"""All layouts that a framework would start: degrees that divide what they cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.planner.frameworks import Framework
from doctor.planner.job import Job
from doctor.planner.layout import Layout

# A ring of context parallelism with shorter pieces than this spends its time on latency (general knowledge; Llama 3,
# arXiv 2407.21783, table 4, has 8,192 tokens a rank). Such layouts are left out unless they are asked for.
FEWEST_TOKENS = 2048
LARGEST_MICRO_BATCH = 16


def layouts(base: Job, framework: Framework, fixed: Mapping[str, Any]) -> Iterator[Layout]:
    """Layouts of one chunk a stage, without repetition. `fixed` degrees are taken as they are.

    Tensor parallelism stays inside the NVLink domain and takes sequence parallelism with it, which moves the same bytes
    and saves memory. Experts have the TP degree of the rest, or none.
    """
    gpus = base.cluster.gpus
    for tp in _tensor(base, framework, fixed):
        for cp in _context(base, framework, fixed):
            for pp in _pipeline(base, framework, fixed):
                if gpus % (tp * cp * pp):
                    continue
                dp = gpus // (tp * cp * pp)
                if base.global_batch % dp or fixed.get("dp", dp) != dp:
                    continue
                first, last = ends(base, framework, pp, fixed)
                for ep, etp in _expert(base, framework, tp, cp, dp, fixed):
                    for shard in _shards(base, framework, dp * cp, fixed):
                        yield Layout(
                            tp=tp, cp=cp, pp=pp, dp=dp, ep=ep, etp=etp, shard=shard, first=first, last=last,
                            chunks=() if first or last else counting_ends(base.shape.layers, pp),
                            sp=tp > 1 and bool(fixed.get("sp", True)),
                        )  # fmt: skip


def chunk_counts(base: Job, framework: Framework, layout: Layout, fixed: Mapping[str, Any]) -> tuple[int, ...]:
    """Numbers of model chunks a pipeline rank can hold."""
    if "vpp" in fixed:
        return (int(fixed["vpp"]),)
    if layout.pp == 1 or not framework.interleaved or layout.first or layout.last:
        return (1,)
    layers = base.shape.layers
    return divisors(layers // layout.pp) if layers % layout.pp == 0 else divisors((layers + 2) // layout.pp)


def counting_ends(layers: int, chunks: int) -> tuple[int, ...]:
    """Layers a chunk where embedding and loss count as a layer each (Megatron-LM, --account-for-embedding-in-pipeline-
    split and --account-for-loss-in-pipeline-split; Llama 3, arXiv 2407.21783, section 3.3.2). Empty where layers divide
    without, or not even so."""
    if chunks < 2 or layers % chunks == 0 or (layers + 2) % chunks:
        return ()
    each = (layers + 2) // chunks
    return (each - 1, *(each,) * (chunks - 2), each - 1)


def micro_batches(base: Job, layout: Layout, fixed: Mapping[str, Any]) -> tuple[int, ...]:
    """Sizes of a micro-batch, powers of two that divide a data-parallel rank's share of the batch."""
    if "micro_batch" in fixed:
        size = int(fixed["micro_batch"])
        return (size,) if base.global_batch % (size * layout.dp) == 0 else ()
    share = base.global_batch // layout.dp
    return tuple(size for size in _powers(LARGEST_MICRO_BATCH) if share % size == 0)


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(small + [number // d for d in reversed(small) if d * d != number])


def _tensor(base: Job, framework: Framework, fixed: Mapping[str, Any]) -> tuple[int, ...]:
    if "tp" in fixed or not framework.tensor:
        return (int(fixed.get("tp", 1)),)
    shape, domain = base.shape, min(base.cluster.nvlink_domain, base.cluster.gpus)
    cut = shape.heads if shape.mla else shape.kv_heads
    return tuple(t for t in divisors(domain) if cut % t == 0 and shape.heads % t == 0 and shape.ffn % t == 0)


def _context(base: Job, framework: Framework, fixed: Mapping[str, Any]) -> tuple[int, ...]:
    if "cp" in fixed or not framework.context:
        return (int(fixed.get("cp", 1)),)
    most = min(base.cluster.gpus, base.seq // FEWEST_TOKENS)
    return (1, *(c for c in _powers(most) if c > 1 and base.seq % (2 * c) == 0))


def _pipeline(base: Job, framework: Framework, fixed: Mapping[str, Any]) -> tuple[int, ...]:
    if "pp" in fixed or not framework.pipeline:
        return (int(fixed.get("pp", 1)),)
    layers = base.shape.layers
    return tuple(
        p
        for p in divisors(base.cluster.gpus)
        if p <= layers
        and (
            layers % p == 0 or (framework.uneven and (counting_ends(layers, p) or any(ends(base, framework, p, fixed))))
        )
    )


def ends(base: Job, framework: Framework, pp: int, fixed: Mapping[str, Any]) -> tuple[int, int]:
    """Layers of the first and the last stage, which also hold embedding and head, where layers do not divide."""
    if "first" in fixed or "last" in fixed:
        return int(fixed.get("first", 0)), int(fixed.get("last", 0))
    layers = base.shape.layers
    if layers % pp == 0 or pp < 3 or not framework.uneven or counting_ends(layers, pp):
        return 0, 0
    each = -(-layers // pp)
    short = each * pp - layers
    last = each - -(-short // 2)
    first = each - short // 2
    return (first if first < each else 0, last) if last > 0 and first > 0 else (0, 0)


def _expert(
    base: Job, framework: Framework, tp: int, cp: int, dp: int, fixed: Mapping[str, Any]
) -> Iterator[tuple[int, int]]:
    moe = base.shape.moe
    if moe is None or not framework.expert:
        if (tp * cp * dp) % (fixed.get("ep", 1) * fixed.get("etp", 1)) == 0:
            yield int(fixed.get("ep", 1)), int(fixed.get("etp", 1))
        return
    for etp in (fixed["etp"],) if "etp" in fixed else dict.fromkeys((1, tp)):
        for ep in (fixed["ep"],) if "ep" in fixed else divisors(moe.experts):
            if (tp * cp * dp) % (ep * etp) == 0 and moe.ffn % etp == 0:
                yield int(ep), int(etp)


def _shards(base: Job, framework: Framework, ranks: int, fixed: Mapping[str, Any]) -> tuple[int, ...]:
    if "shard" in fixed:
        return (int(fixed["shard"]),) if fixed["shard"] == 0 or ranks % fixed["shard"] == 0 else ()
    node = base.cluster.per_node
    return (0, node) if framework.hybrid and ranks > node and ranks % node == 0 else (0,)


def _powers(most: int) -> Iterator[int]:
    power = 1
    while power <= most:
        yield power
        power *= 2
