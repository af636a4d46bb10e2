"""Traced collectives beside what the links of a node carry."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("trace.all_reduce_bus_rate", "trace.device_name", "trace.world_size")
GIVES = ("trace.bus_rate_share",)

GPUS_IN_NODE = 8
RING = (
    (re.compile(r"A100(?!.*PCI)|A800(?!.*PCI)"), 240e9),
    (re.compile(r"H(?:100|200)(?!.*(?:PCI|NVL))"), 370.8e9),
    (re.compile(r"B200(?!.*PCI)"), 721.8e9),
)
"""Bus bandwidth in B/s of a ring over all NVLinks: links times bandwidth of a link as NCCL's own model counts them
(src/graph/topo.h: sm80 20.0, sm90 20.6, sm100 40.1 GB/s; 12, 18 and 18 links)."""


def derive(store: FactStore) -> Iterator[Fact]:
    """The share that large all-reduces reach, where all ranks fit into one node of eight GPUs with NVLink."""
    rate, world = store.get("trace.all_reduce_bus_rate"), store.get("trace.world_size")
    name = next(store.every("trace.device_name"), None)
    if rate is None or world is None or name is None or not isinstance(world.value, int):
        return
    if not 2 < world.value <= GPUS_IN_NODE:
        return
    ceiling = next((most for pattern, most in RING if pattern.search(str(name.value))), None)
    if ceiling is not None:
        share = float(str(rate.value)) / ceiling
        because = (rate.source, name.source)
        yield Fact("trace.bus_rate_share", share, "job", Source("derived"), None, Quality.DERIVED, because)
