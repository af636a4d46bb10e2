"""Which links a process group uses: where its ranks stand on the nodes, and what bandwidth that leaves them.

Ranks are numbered as Megatron-LM does by default: tp fastest, then cp, then dp, then pp; experts etp, ep, edp, pp
(core/parallel_state.py, order "tp-cp-ep-dp-pp").
"""

from __future__ import annotations

from dataclasses import dataclass

from doctor.planner.cluster import Cluster
from doctor.planner.communication.transfer import Group
from doctor.planner.layout import Layout

# Share of the wire rate that a collective reaches on large buffers. NVLink: NCCL's own figure for a link, 20.0 of 25
# GB/s on A100, 20.6 on H100 (src/graph/topo.h); network: 12.0 of 12.5 GB/s for 100 Gb/s there, and 12.0 of 15.75 for
# PCIe 3.0 x16.
NVLINK_SHARE = 0.8
NETWORK_SHARE = 0.96
PCIE_SHARE = 0.76


@dataclass(frozen=True, slots=True)
class Span:
    """ranks of a group, and how many of them reach each other over NVLink (or PCIe) without the network."""

    ranks: int
    near: int

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.near)


def span(group: Group, layout: Layout, cluster: Cluster) -> Span:
    """How a group of that role lies on the nodes."""
    stride, ranks = _stride(group, layout)
    domain = max(cluster.per_node, cluster.nvlink_domain)
    near = max(1, min(ranks, domain // stride)) if stride < domain else 1
    return Span(ranks, near)


def _stride(group: Group, layout: Layout) -> tuple[int, int]:
    """Distance between neighbouring ranks of the group, and their number."""
    stage = layout.tp * layout.cp * layout.dp
    return {
        Group.TP: (1, layout.tp),
        Group.CP: (layout.tp, layout.cp),
        Group.DP: (layout.tp, layout.cp * layout.dp),
        Group.PP: (stage, layout.pp),
        Group.ETP: (1, layout.etp),
        Group.EP: (layout.etp, layout.ep),
        Group.EDP: (layout.etp * layout.ep, layout.edp),
    }[group]


def inside(cluster: Cluster) -> float:
    """B/s that one GPU reaches inside its node: NVLink, or PCIe where there is none."""
    if cluster.nvlink_domain > 1 and cluster.gpu.nvlink:
        return cluster.gpu.nvlink * NVLINK_SHARE
    return cluster.gpu.known("pcie") * PCIE_SHARE


def network(cluster: Cluster) -> float:
    """B/s of the network that one GPU has when all GPUs of its node use it at once."""
    return cluster.nic_bandwidth / cluster.per_node * NETWORK_SHARE
