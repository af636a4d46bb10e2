"""Who held the memory of a GPU when a request for more was refused, by what the error itself says."""

from __future__ import annotations

from doctor.facts.model import Event
from doctor.facts.store import FactStore
from doctor.session.pictures import Bar, Part, Picture

MOST = 1024


def memory_at_error(store: FactStore) -> Picture | None:
    """A bar a rank, of its first error; None where no error tells how large the GPU is and what was allocated."""
    bars: dict[str, Bar] = {}
    for event in store.events("torch.cuda_oom"):
        entity = "job" if event.rank is None else f"rank:{event.rank}"
        if entity not in bars and len(bars) < MOST and (bar := _bar(event, entity)) is not None:
            bars[entity] = bar
    order = sorted(bars, key=lambda entity: (entity[:3], int(entity.rpartition(":")[2]) if ":" in entity else 0))
    return Picture("memory_at_error", tuple(bars[entity] for entity in order)) if bars else None


def _bar(event: Event, entity: str) -> Bar | None:
    """Tensors, what the allocator kept beside them, what nobody has, and the rest, which torch does not see."""
    total, allocated, free = (_bytes(event, name) for name in ("total", "allocated", "free"))
    if not total or allocated is None or free is None:
        return None
    reserved = _bytes(event, "reserved")
    cached = _bytes(event, "reserved_unallocated")
    if cached is None:
        cached = max(reserved - allocated, 0) if reserved is not None else 0
    rest = total - allocated - cached - free
    if rest < 0:  # versions of the message count differently; parts that do not add up are no picture
        return None
    sizes = (("allocated", allocated), ("cached", cached), ("outside_or_others", rest), ("free", free))
    return Bar(entity, 0.0, tuple(Part(f"gpu_{kind}", size / total) for kind, size in sizes if size > 0), total)


def _bytes(event: Event, name: str) -> int | None:
    value = event.fields.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
