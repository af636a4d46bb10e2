"""Can network cards of a node reach GPU memory themselves: by nvidia-peermem, by DMA-BUF, or not at all?

DMA-BUF needs the open kernel modules and Linux 5.12 or later (NVIDIA, GPUDirect RDMA; NCCL uses it from 2.13 on).
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.derive.network_lines import version
from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("node.ib_devices", "node.modules", "node.peermem_loaded", "node.open_driver", "node.kernel")
GIVES = ("node.gpudirect_rdma",)

DMABUF_SINCE = (5, 12)


def derive(store: FactStore) -> Iterator[Fact]:
    for devices in store.every("node.ib_devices"):
        node = devices.entity
        modules, peermem = store.get("node.modules", node), store.get("node.peermem_loaded", node)
        loaded = modules.value if modules is not None and isinstance(modules.value, tuple) else ()
        if not devices.value or devices.quality is Quality.FAILED or peermem is None or "efa" in loaded:
            continue
        opened, kernel = store.get("node.open_driver", node), store.get("node.kernel", node)
        told = _way(peermem.value is True, None if opened is None else opened.value is True, _of(kernel))
        if told:
            because = tuple(fact.source for fact in (peermem, opened, kernel) if fact is not None)
            source = Source("derived", text="node.gpudirect_rdma")
            yield Fact("node.gpudirect_rdma", told, node, source, quality=Quality.DERIVED, because=because)


def _of(kernel: Fact | None) -> tuple[int, ...]:
    return version(str(kernel.value))[:2] if kernel is not None else ()


def _way(peermem: bool, opened: bool | None, kernel: tuple[int, ...]) -> str:
    """The way there is, "" where that is not known."""
    if peermem:
        return "peermem"
    if opened is False or (kernel and kernel < DMABUF_SINCE):
        return "none"
    return "dmabuf" if opened and kernel else ""
