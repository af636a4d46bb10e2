"""Memory of a GPU that its allocator's snapshot does not account for."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("snapshot.oom_device_free", "snapshot.oom_reserved", "gpu.memory_total", "oom.capacity")
GIVES = ("snapshot.oom_outside",)


def derive(store: FactStore) -> Iterator[Fact]:
    """What the GPU has, without what the allocator had reserved and what was free.

    The size of the GPU is that of the error message, else of the node's state where all its GPUs are alike.
    """
    for free in store.every("snapshot.oom_device_free"):
        reserved = store.get("snapshot.oom_reserved", free.entity)
        whole = _capacity(store, free.entity)
        if reserved is None or whole is None:
            continue
        outside = int(float(whole.value) - float(reserved.value) - float(free.value))  # type: ignore[arg-type]
        if outside >= 0:
            because = (reserved.source, free.source, whole.source)
            yield Fact("snapshot.oom_outside", outside, free.entity, Source("derived"), None, Quality.DERIVED, because)


def _capacity(store: FactStore, entity: str) -> Fact | None:
    stated = store.get("oom.capacity", entity)
    if stated is not None:
        return stated
    every = [*store.every("gpu.memory_total")]
    return every[0] if every and len({fact.value for fact in every}) == 1 else None
