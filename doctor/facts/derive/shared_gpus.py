"""How many GPUs of one host NCCL found under two ranks: one, when no rank chooses its own; several, when each is
chosen twice, by the processes of two launchers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.derive.network_lines import derived, host_of
from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore

NEEDS = ("event:nccl.duplicate_gpu",)
GIVES = ("nccl.gpus_shared",)


def derive(store: FactStore) -> Iterator[Fact]:
    shared: dict[str, dict[str, Event]] = defaultdict(dict)
    for event in store.events("nccl.duplicate_gpu"):
        shared[host_of(event)].setdefault(str(event.fields.get("device", "")).lower(), event)
    if shared:
        most = max(shared.values(), key=len)
        yield derived("nccl.gpus_shared", len(most), most.values())
