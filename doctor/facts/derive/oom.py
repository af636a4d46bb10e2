"""What the numbers of an out-of-memory error say: whose memory it was, on which ranks, and what size was asked for.

Sizes that PyTorch asks the driver for are multiples of 2 MiB and are printed with two decimals, so a size computed from
the configuration matches within `ROUNDING` plus half of the last printed digit (c10/cuda/CUDACachingAllocator.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from doctor.facts.derive.oom_site import entity_of
from doctor.facts.derive.vocabulary import vocabulary_of
from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore
from doctor.facts.units import parse_size

NEEDS = (
    *("event:torch.cuda_oom", "event:memory.sample", "event:deepspeed.bucket", "event:progress.step"),
    *("event:progress.bar", "config.zero_stage", "event:torch.cuda_oom_driver", "event:torch.library_alloc_failed"),
    "event:vllm.startup_memory",
    *("config.world_size", "config.tp", "config.pp", "config.cp", "config.dp", "config.vocab_size", "config.seq_len"),
    *("config.micro_batch", "config.num_heads", "config.params", "config.reduce_bucket", "config.model"),
    *("config.allgather_bucket", "config.prefetch_bucket", "config.max_tokens_per_gpu", "config.dp_shard"),
)
GIVES = (
    *("oom.count", "oom.ranks", "oom.devices", "oom.all_ranks", "oom.only_device0", "oom.wrong_device", "oom.stage"),
    *("oom.last_stage", "oom.first_stage", "oom.one_stage", "oom.requested", "oom.capacity", "oom.own_bytes"),
    *("oom.other_bytes", "oom.other_processes", "oom.similar_processes", "oom.cached_share", "oom.steps_done"),
    *("oom.request_equals_logits", "oom.request_equals_scores", "oom.request_equals_bucket"),
    *("oom.request_equals_shard", "oom.size_unexplained"),
)

REPORTS = (
    *("torch.cuda_oom", "torch.cuda_oom_driver", "torch.library_alloc_failed", "vllm.startup_memory"),
    "torch.oom_recovered",
)
MIB = 1024**2
ROUNDING = 2 * MIB
SPARE = 0.1
"""Share of the card: less may have been freed by a neighbour between the failed request and the message."""
DEFAULT_BUCKET = 5e8
"""Elements in DeepSpeed's default reduce, all-gather and prefetch buckets (deepspeed/runtime/zero/config.py)."""

_OTHER = re.compile(r"Process (\d+) has ([\d.]+ (?:[KMGT]iB|bytes)) memory in use")
_ACTOR = re.compile(r"pid=(\d+)")
_SIZE = re.compile(r"Tried to allocate ([\d.]+) ?([KMGT]?)i?(?:B|bytes)")


def derive(store: FactStore) -> Iterable[Fact]:
    yield from _counts(store)
    by_run: dict[str, list[Event]] = {}
    for event in store.events("torch.cuda_oom"):
        by_run.setdefault(entity_of(event), []).append(event)
    ranks = _rank_of_actor(store)
    for entity, events in by_run.items():
        events.sort(key=lambda e: (e.time is None, e.time or 0.0, e.order))
        yield from _sizes(entity, events)
        yield from _places(entity, events, store, ranks)
        yield from _processes(entity, events)
        yield from _fingerprints(entity, events, store)
        yield from _steps(entity, events[0], store)


def _counts(store: FactStore) -> Iterator[Fact]:
    """How often the GPU ran out, whoever reports it; nothing when it never did."""
    reported: dict[str, list[Event]] = {}
    for name in REPORTS:
        for event in store.events(name):
            reported.setdefault(entity_of(event), []).append(event)
    for entity, events in reported.items():
        yield fact("oom.count", len(events), entity, events[0])


def fact(name: str, value: Value, entity: str, *events: Event) -> Fact:
    return Fact(name, value, entity, Source("derived"), None, Quality.DERIVED, tuple(e.source for e in events))


def number(event: Event, name: str) -> float | None:
    value = event.fields.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _sizes(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    first = next((e for e in events if number(e, "total") is not None), events[0])
    for name, field in (("oom.requested", "requested"), ("oom.capacity", "total")):
        if (value := number(first, field)) is not None:
            yield fact(name, int(value), entity, first)
    yield fact("oom.size_unexplained", _unexplained(first), entity, first)
    total, cached = number(first, "total"), _cached(first)
    if total and cached is not None:
        yield fact("oom.cached_share", cached / total, entity, first)


def _unexplained(event: Event) -> bool:
    """Is the size no reason for the error: far more was free than asked for, or the number itself is out of bounds?

    The free bytes are read after the allocator has given back its cache, so a request that fits several times over was
    refused for another reason: a limit of the driver or of a virtual machine, a fault of the program.
    """
    if "beyond" in event.fields:
        return True
    requested, free, total = (number(event, name) for name in ("requested", "free", "total"))
    if requested is None or free is None or not total or number(event, "allowed") is not None:
        return False
    return free > 2 * requested and free - requested > SPARE * total


def _cached(event: Event) -> float | None:
    """Reserved but unallocated bytes; up to torch 2.0 the difference of two numbers."""
    if (value := number(event, "reserved_unallocated")) is not None:
        return value
    reserved, allocated = number(event, "reserved"), number(event, "allocated")
    return None if reserved is None or allocated is None else max(reserved - allocated, 0.0)


def _rank_of_actor(store: FactStore) -> dict[str, int]:
    """Ray names a process by its pid; lines that also name the rank tell whose it is."""
    found: dict[str, int] = {}
    for event in store.events("memory.sample"):
        actor, rank = _ACTOR.search(event.source.text), number(event, "on_rank")
        if actor and rank is not None:
            found[actor[1]] = int(rank)
    return found


def rank_of(event: Event, actors: dict[str, int]) -> int | None:
    if event.rank is not None:
        return event.rank
    actor = _ACTOR.search(event.source.text)
    return actors.get(actor[1]) if actor else None


def _places(entity: str, events: Sequence[Event], store: FactStore, actors: dict[str, int]) -> Iterator[Fact]:
    ranks = sorted({r for e in events if (r := rank_of(e, actors)) is not None})
    devices = sorted({int(d) for e in events if (d := number(e, "device")) is not None})
    yield fact("oom.ranks", max(len(ranks), 1), entity, events[0])
    if devices:
        yield fact("oom.devices", tuple(devices), entity, events[0])
    world = _config(store, "config.world_size")
    if world and ranks:
        yield fact("oom.all_ranks", len(ranks) >= world, entity, events[0])
    local = [(e.local_rank, number(e, "device"), e) for e in events if e.local_rank is not None]
    if devices and ((world or 0) > 1 or len({e.local_rank for e in events}) > 1):
        yield fact("oom.only_device0", devices == [0], entity, events[0])
    wrong = [e for rank, device, e in local if rank and device == 0]
    if local and devices:
        yield fact("oom.wrong_device", bool(wrong), entity, *(wrong[:2] or events[:1]))
    stages = _config(store, "config.pp")
    if world and stages and stages > 1 and ranks and world % stages == 0 and ranks[-1] < world:
        # Megatron's default order tp-cp-ep-dp-pp keeps a stage's ranks together (core/parallel_state.py).
        failing = {int(rank // (world // stages)) for rank in ranks}
        heard = {int(rank // (world // stages)) for rank in _heard(store) if rank < world}
        if heard - failing or len(failing) > 1:
            yield fact("oom.one_stage", len(failing) == 1, entity, events[0])
        yield fact("oom.stage", max(failing), entity, events[0])
        yield fact("oom.last_stage", failing == {int(stages) - 1}, entity, events[0])
        yield fact("oom.first_stage", failing == {0}, entity, events[0])


def _heard(store: FactStore) -> set[int]:
    """Ranks that any line comes from: without a line from another stage nothing can be said of one stage alone."""
    ranks = {event.rank for event in store.events() if event.rank is not None}
    named = (number(event, "on_rank") for event in store.events("memory.sample"))
    listed = next(store.every("log.ranks_seen"), None)
    seen = listed.value if listed is not None and isinstance(listed.value, tuple) else ()
    return ranks | {int(rank) for rank in named if rank is not None} | {int(r) for r in seen}


def _processes(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    """What other processes hold on the card; PyTorch lists them from 2.1 on, unless a container hides them."""
    for event in events:
        found = ((pid, parse_size(text)) for pid, text in _OTHER.findall(event.source.text))
        listed = [(pid, size) for pid, size in found if size is not None]
        own, total, free = (number(event, name) for name in ("process_in_use", "total", "free"))
        in_container: float | None = None
        if own is None and len(listed) == 1 and number(event, "allocated") is not None:
            # In a container the own process is shown by its pid: then nearly all that is not free is its own.
            taken = (total or 0.0) - (free or 0.0)
            in_container = listed[0][1] if taken > 0 and listed[0][1] >= 0.95 * taken else None
            listed = []
        if listed or own is not None:
            yield fact("oom.other_processes", len(listed), entity, event)
            sizes = sorted(size for _, size in listed)
            alike = max((sum(1 for b in sizes if abs(b - a) <= 0.1 * max(a, b)) for a in sizes), default=0)
            yield fact("oom.similar_processes", alike, entity, event)
        reserved = number(event, "reserved")
        if reserved is None and number(event, "allocated") is not None:
            reserved = (number(event, "allocated") or 0.0) + (_cached(event) or 0.0)
        mine = next((value for value in (own, in_container, reserved) if value is not None), None)
        if mine is None or total is None or free is None:
            continue
        yield fact("oom.own_bytes", int(mine), entity, event)
        yield fact("oom.other_bytes", int(max(total - free - mine, 0.0)), entity, event)
        return


def _fingerprints(entity: str, events: Sequence[Event], store: FactStore) -> Iterator[Fact]:
    sized = [e for e in events if number(e, "requested") is not None]
    if not sized:
        return
    for name, sizes in (
        ("oom.request_equals_logits", list(_logits(store))),
        ("oom.request_equals_scores", list(_scores(store))),
        ("oom.request_equals_bucket", list(_buckets(store, events))),
        ("oom.request_equals_shard", list(_shards(store))),
    ):
        if sizes:
            hit = next((e for e in sized if any(matches(e, size) for size in sizes)), None)
            yield fact(name, hit is not None, entity, hit or sized[0])


def matches(event: Event, size: float) -> bool:
    """Does the request printed by `event` equal `size` bytes, within what rounding hides?"""
    requested = number(event, "requested") or 0.0
    printed = _SIZE.search(event.source.text)
    unit = {"K": 1024, "M": MIB, "G": 1024**3, "T": 1024**4}.get(printed[2] if printed else "M", 1)
    return size > 16 * MIB and abs(requested - size) <= ROUNDING + 0.005 * unit


def _logits(store: FactStore) -> Iterator[float]:
    vocabulary, tokens = vocabulary_of(store), _tokens(store)
    if vocabulary and tokens:
        for split in {1.0, _config(store, "config.tp") or 1.0}:
            yield from (tokens * vocabulary / split * width for width in (2, 4))


def _tokens(store: FactStore) -> float | None:
    if budget := _config(store, "config.max_tokens_per_gpu"):
        return budget
    length, micro = _config(store, "config.seq_len"), _config(store, "config.micro_batch")
    return length * micro / (_config(store, "config.cp") or 1.0) if length and micro else None


def _scores(store: FactStore) -> Iterator[float]:
    heads, length = _config(store, "config.num_heads"), _config(store, "config.seq_len")
    micro, tp = _config(store, "config.micro_batch") or 1.0, _config(store, "config.tp") or 1.0
    if heads and length:
        yield from (heads / tp * length**2 * micro * width for width in (2, 4))


def _buckets(store: FactStore, events: Sequence[Event]) -> Iterator[float]:
    names = ("config.reduce_bucket", "config.allgather_bucket", "config.prefetch_bucket")
    elements = {value for name in names if (value := _config(store, name))}
    for event in store.events("deepspeed.bucket"):
        elements |= {float(str(v).replace(",", "")) for v in event.fields.values() if re.fullmatch(r"[\d,]+", str(v))}
    zero = store.get("config.zero_stage") is not None or bool(store.events("deepspeed.zero_stage"))
    if zero or any("deepspeed" in str(e.fields.get("traceback", "")) for e in events):
        elements.add(DEFAULT_BUCKET)
    yield from (count * width for count in elements for width in (2, 4))


def _shards(store: FactStore) -> Iterator[float]:
    params = _config(store, "config.params")
    if not params:
        return
    model = (_config(store, "config.tp") or 1.0) * (_config(store, "config.pp") or 1.0)
    counts = {model, _config(store, "config.world_size"), _config(store, "config.dp_shard")}
    yield from (params / count * width for count in counts if count for width in (2, 4))


def _steps(entity: str, event: Event, store: FactStore) -> Iterator[Fact]:
    """Steps that the run had done; a run that starts far from zero was resumed there."""
    seen: list[Event] = []
    for name in ("progress.step", "progress.bar"):
        for other in store.events(name):
            if other.run != event.run or (other.source.path == event.source.path and other.order > event.order):
                continue
            if name == "progress.step" or not other.fields.get("label"):
                seen.append(other)
    steps = [int(step) for e in seen if (step := number(e, "step")) is not None]
    if steps:
        start = min(steps) if len(steps) > 2 and min(steps) > 50 else 0
        yield fact("oom.steps_done", max(steps) - start, entity, seen[-1], event)
    elif seen or event.phase == "training":
        yield fact("oom.steps_done", len(seen), entity, event)


def _config(store: FactStore, name: str) -> float | None:
    found = store.get(name) or next(store.every(name), None)
    value = found.value if found else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
