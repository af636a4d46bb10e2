"""AMD GPUs of a node beside each other: does one reach fewer others by xGMI?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("gpu.xgmi_peers",)
GIVES = ("gpu.xgmi_missing",)


def derive(store: FactStore) -> Iterator[Fact]:
    nodes: dict[str, dict[str, Fact]] = defaultdict(dict)
    for fact in store.every("gpu.xgmi_peers"):
        if isinstance(fact.value, int):
            nodes[fact.entity.rsplit("/", 1)[0]][fact.entity] = fact
    for facts in nodes.values():
        counts = {entity: fact.value for entity, fact in facts.items() if isinstance(fact.value, int)}
        most = max(counts.values())
        best = next(fact for entity, fact in facts.items() if counts[entity] == most)
        for entity, count in counts.items():
            because = (facts[entity].source, best.source)
            source = Source("derived", text="gpu.xgmi_missing")
            yield Fact("gpu.xgmi_missing", most - count, entity, source, quality=Quality.DERIVED, because=because)
