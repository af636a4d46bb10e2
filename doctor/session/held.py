"""Who holds the memory of each GPU, as bars: at the error of a snapshot, else at its peak, else when it was taken.

Where there is no snapshot, the error of the allocator in the log tells less of the same.
"""

from __future__ import annotations

import re

from doctor.facts.store import FactStore
from doctor.session.oom_memory import memory_at_error
from doctor.session.pictures import Bar, Part, Picture

MOMENTS = ("oom", "peak", "end")
_PART = re.compile(r"(\w{1,40})=(\d{1,18})")
"""A category and its bytes; a bundle of somebody else may say anything there, which is then left out."""


def memory_of(store: FactStore) -> Picture | None:
    """The picture of what snapshots say, else of what errors tell; None where there is neither."""
    entities = {fact.entity for fact in store.every("snapshot.reserved")}
    order = sorted(entities, key=lambda entity: (entity[:3], [int(n) for n in re.findall(r"\d+", entity)], entity))
    bars = tuple(bar for entity in order if (bar := _bar(store, entity)) is not None)
    return Picture("memory_held", bars) if bars else memory_at_error(store)


def _bar(store: FactStore, entity: str) -> Bar | None:
    for moment in MOMENTS:
        total, parts = (store.get(f"snapshot.{moment}_{name}", entity) for name in ("total", "categories"))
        if total is None or parts is None or not isinstance(total.value, int) or not isinstance(parts.value, tuple):
            continue
        if total.value > 0:
            named = [match for part in parts.value if (match := _PART.fullmatch(str(part)))]
            sizes = [(match[1], int(match[2])) for match in named]
            shares = tuple(Part(f"held_{name}", size / total.value) for name, size in sizes if size > 0)
            return Bar(entity, 0.0, shares, total.value)
    return None
