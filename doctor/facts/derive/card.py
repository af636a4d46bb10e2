"""How much memory a GPU of the job has: measured, printed by the job, or told by the name of the card."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("gpu.memory_total", "gpu.name", "config.gpu_model", "event:gpu.capacity")
GIVES = ("job.gpu_memory",)
_SIZE = re.compile(r"\b(\d{2,3}) ?GB?\b", re.IGNORECASE)


def derive(store: FactStore) -> Iterator[Fact]:
    if (found := card_memory(store)) is not None:
        size, source = found
        yield Fact("job.gpu_memory", size, "job", Source("derived"), None, Quality.DERIVED, (source,))


def card_memory(store: FactStore) -> tuple[float, Source] | None:
    """Bytes of a card, and where they were read."""
    for fact in store.every("gpu.memory_total"):
        if isinstance(fact.value, int | float) and fact.value > 0:
            return float(fact.value), fact.source
    for event in store.events("gpu.capacity"):
        value = event.fields.get("capacity")
        if isinstance(value, int | float) and value > 0:
            return float(value), event.source
    for name in ("gpu.name", "config.gpu_model"):
        for fact in store.every(name):
            if match := _SIZE.search(str(fact.value)):
                return float(match[1]) * 1024**3, fact.source
    return None
