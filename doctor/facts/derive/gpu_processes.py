"""Which processes hold memory on more than one GPU of a node, from the process tables of nvidia-smi."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("gpu.process_pids",)
GIVES = ("gpu.shared_pids", "gpu.spread_pids", "gpu.pids")


def derive(store: FactStore) -> Iterable[Fact]:
    """For each node: processes on GPU 0 and elsewhere, processes on several GPUs, processes in all."""
    nodes: dict[str, list[tuple[str, Fact]]] = defaultdict(list)
    for fact in store.every("gpu.process_pids"):
        host, _, index = fact.entity.removeprefix("gpu:").rpartition("/")
        nodes[host].append((index, fact))
    for host, found in nodes.items():
        places: dict[object, set[str]] = defaultdict(set)
        for index, fact in found:
            for pid in fact.value if isinstance(fact.value, tuple) else (fact.value,):
                places[pid].add(index)
        sources = tuple(dict.fromkeys(fact.source for _, fact in found))
        shared = sum(1 for indices in places.values() if "0" in indices and len(indices) > 1)
        spread = sum(1 for indices in places.values() if len(indices) > 1)
        for name, count in (("gpu.shared_pids", shared), ("gpu.spread_pids", spread), ("gpu.pids", len(places))):
            yield Fact(name, count, f"node:{host}", Source("derived"), None, Quality.DERIVED, sources)
