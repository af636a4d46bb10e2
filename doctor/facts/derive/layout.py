"""What the parallel layout means on the machine: which groups leave a node, and the bubble of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = (
    *("config.tp", "config.pp", "config.vpp", "config.ep", "config.etp", "config.nnodes", "config.world_size"),
    *("config.nproc_per_node", "config.gpus_per_node", "config.num_microbatches", "config.gpu_model"),
    *("config.pp_microbatches", "config.grad_accum", "node.gpu_count", "gpu.name"),
    *("config.micro_batch", "config.dp", "config.global_batch", "event:progress.step"),
)
GIVES = ("layout.gpus_per_node", "layout.tp_span", "layout.ep_span", "layout.bubble_share")

USUAL_NODE = 8
"""GPUs of a HGX or OAM node; assumed only to judge groups that are larger than any such node."""
RACK_SCALE = ("gb200", "gb300", "nvl72", "nvl36")
"""Machines whose NVLink domain is a rack: a group may leave the node and still be on NVLink."""


def derive(store: FactStore) -> Iterator[Fact]:
    """Spans are in nodes: 1 stays inside. They are unknown where the GPUs of a node are not known and could matter."""
    yield from _bubble(store)
    per_node, source = _per_node(store)
    if per_node is not None:
        yield _fact("layout.gpus_per_node", per_node, source)
    if _rack_scale(store):
        return
    tp = _count(store, "config.tp")
    etp = _count(store, "config.etp") or tp
    for name, size, groups in (
        ("layout.tp_span", tp[0] if tp else None, (tp,)),
        ("layout.ep_span", _product(_count(store, "config.ep"), etp), (_count(store, "config.ep"), etp)),
    ):
        if size is None:
            continue
        sources = tuple(source for group in groups if group for source in group[1])
        node = per_node if per_node is not None else USUAL_NODE if size > USUAL_NODE else None
        if node is not None:
            # A group smaller than a node still leaves it when it does not divide the node.
            spread = ceil(size / node) if size > node or node % size == 0 else 2
            alone = size <= node and _one_node(store)
            yield _fact(name, 1 if alone else spread, (*sources, *source))


def _bubble(store: FactStore) -> Iterator[Fact]:
    """Idle share of a pipeline: (p-1)/(v*m+p-1), for GPipe and 1F1B (v = 1) and interleaved 1F1B.

    Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021, section 2.2.
    """
    stages = _count(store, "config.pp")
    batches = _count(store, "config.num_microbatches") or _count(store, "config.pp_microbatches")
    batches = batches or _count(store, "config.grad_accum") or _printed(store)
    if stages is None or batches is None:
        return
    chunks = _count(store, "config.vpp") or (1, ())
    p, m, v = stages[0], batches[0], chunks[0]
    if p > 1:
        share = (p - 1) / (v * m + p - 1)
        yield _fact("layout.bubble_share", share, (*stages[1], *batches[1], *chunks[1]))


def _printed(store: FactStore) -> tuple[int, tuple[Source, ...]] | None:
    """Micro-batches by the global batch that the last step prints; it grows in a batch-size ramp-up."""
    micro, dp = _count(store, "config.micro_batch"), _count(store, "config.dp")
    last = next((e for e in reversed(store.events("progress.step")) if "global_batch" in e.fields), None)
    if micro is None or dp is None or last is None:
        return None
    whole = last.fields["global_batch"]
    if not isinstance(whole, int) or whole < micro[0] * dp[0]:
        return None
    return whole // (micro[0] * dp[0]), (last.source, *micro[1], *dp[1])


def _per_node(store: FactStore) -> tuple[int | None, tuple[Source, ...]]:
    for name in ("config.nproc_per_node", "config.gpus_per_node"):
        if found := _count(store, name):
            return found
    counts = [fact for fact in store.every("node.gpu_count") if isinstance(fact.value, int) and fact.value > 0]
    if counts:
        return min(int(fact.value) for fact in counts if isinstance(fact.value, int)), (counts[0].source,)
    world, nodes = _count(store, "config.world_size"), _count(store, "config.nnodes")
    if world and nodes and world[0] % nodes[0] == 0:
        return world[0] // nodes[0], (*world[1], *nodes[1])
    return None, ()


def _one_node(store: FactStore) -> bool:
    nodes = _count(store, "config.nnodes")
    return nodes is not None and nodes[0] == 1


def _rack_scale(store: FactStore) -> bool:
    names = [str(fact.value).lower() for name in ("gpu.name", "config.gpu_model") for fact in store.every(name)]
    return any(mark in name for name in names for mark in RACK_SCALE)


def _count(store: FactStore, name: str) -> tuple[int, tuple[Source, ...]] | None:
    fact = store.get(name)
    if fact is None or not isinstance(fact.value, int) or isinstance(fact.value, bool) or fact.value < 1:
        return None
    return fact.value, fact.because or (fact.source,)


def _product(one: tuple[int, tuple[Source, ...]] | None, other: tuple[int, tuple[Source, ...]] | None) -> int | None:
    """Ranks of a group that is `one` wide with groups of `other` inside it (Megatron orders tp-cp-ep-dp-pp)."""
    return None if one is None else one[0] * (other[0] if other else 1)


def _fact(name: str, value: Value, sources: tuple[Source, ...]) -> Fact:
    return Fact(name, value, "job", Source("derived"), None, Quality.DERIVED, tuple(dict.fromkeys(sources)))
