"""Seconds of a collective, by latency and bandwidth of the links that it crosses."""

from __future__ import annotations

from math import log2

from doctor.planner.cluster import Cluster
from doctor.planner.communication.links import Span, inside, network, span
from doctor.planner.communication.transfer import Primitive, Transfer
from doctor.planner.layout import Layout

# NCCL's latencies of the Simple protocol, in seconds (src/graph/tuning.cc): a call, a hop over NVLink, a hop over the
# network.
CALL = 8.4e-6
HOP_INSIDE = 3.4e-6
HOP_NETWORK = 14.0e-6


def seconds(transfer: Transfer, layout: Layout, cluster: Cluster) -> float:
    """Time of all calls of the transfer in a step, one after the other, with nothing else on the links but the same
    transfer of the neighbouring groups."""
    return transfer.calls * seconds_a_call(transfer, span(transfer.group, layout, cluster), cluster)


def seconds_a_call(transfer: Transfer, where: Span, cluster: Cluster) -> float:
    """alpha + beta of one call: latency of the hops, then factor * payload over the bus bandwidth."""
    return latency(transfer.primitive, where) + _bytes_time(transfer, where, cluster)


def _bytes_time(transfer: Transfer, where: Span, cluster: Cluster) -> float:
    near, far = inside(cluster), network(cluster)
    if where.ranks <= 1:
        return 0.0
    if transfer.primitive is Primitive.ALL_TO_ALL:
        # What stays on the node and what leaves it run side by side; every rank has its own share of the network.
        local = transfer.payload * (where.near - 1) / where.ranks / near
        remote = transfer.payload * (where.ranks - where.near) / where.ranks / far if where.nodes > 1 else 0.0
        return max(local, remote)
    # Of a ring's or a chain's members on a node one sends to the next node at a time, with the network shares of all.
    bandwidth = near if where.nodes == 1 else min(near, far * where.near)
    return transfer.factor * transfer.payload / bandwidth


def latency(primitive: Primitive, where: Span) -> float:
    """Seconds before the first and after the last byte: 2(n-1) or n-1 hops in a ring, or 2 log2(nodes) network hops in
    the tree that NCCL prefers for all-reduces over many nodes (src/graph/tuning.cc)."""
    if where.ranks <= 1:
        return 0.0
    if primitive in (Primitive.SEND_RECV, Primitive.ALL_TO_ALL):
        return CALL + (HOP_INSIDE if where.nodes == 1 else HOP_NETWORK)
    hops_far = where.nodes if where.nodes > 1 else 0
    hops_near = where.ranks - 1 - max(0, hops_far - 1)
    times = 2 if primitive is Primitive.ALL_REDUCE else 1
    ring = times * (hops_near * HOP_INSIDE + hops_far * HOP_NETWORK)
    if primitive is not Primitive.ALL_REDUCE:
        return CALL + ring
    tree = 2 * ((where.near - 1) * HOP_INSIDE + log2(max(1, where.nodes)) * HOP_NETWORK)
    return CALL + min(ring, tree)
