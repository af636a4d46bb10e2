"""Where a group stands, and what a collective takes there."""

from __future__ import annotations

import pytest

from doctor.planner.communication.cost import CALL, HOP_NETWORK, latency, seconds_a_call
from doctor.planner.communication.links import Span, inside, network, span
from doctor.planner.communication.transfer import Group, Primitive
from doctor.planner.layout import Layout
from tests.planner.communication.test_transfer import transfer
from tests.planner.support import cluster

H100 = "H100-SXM5-80GB"


def test_tensor_parallel_ranks_are_neighbours_and_data_parallel_ones_are_not() -> None:
    layout, machines = Layout(tp=8, pp=4, dp=2), cluster(64)
    assert span(Group.TP, layout, machines) == Span(8, 8)
    assert span(Group.DP, layout, machines) == Span(2, 1)
    assert span(Group.PP, layout, machines) == Span(4, 1)


def test_a_smaller_tensor_parallel_size_brings_data_parallel_ranks_onto_the_node() -> None:
    assert span(Group.DP, Layout(tp=2, dp=32), cluster(64)) == Span(32, 4)


def test_tensor_parallelism_beyond_the_node_crosses_the_network() -> None:
    where = span(Group.TP, Layout(tp=16, dp=4), cluster(64))
    assert (where.near, where.nodes) == (8, 2)


def test_a_rack_of_72_gpus_is_one_nvlink_domain() -> None:
    machines = cluster(64, "GB200", per_node=4)
    assert span(Group.TP, Layout(tp=8, dp=8), machines).nodes == 1
    assert span(Group.DP, Layout(dp=64), machines).nodes == 1


def test_expert_parallel_groups_are_cut_over_the_same_ranks() -> None:
    assert span(Group.EP, Layout(tp=2, dp=32, ep=8), cluster(64)) == Span(8, 8)
    assert span(Group.EDP, Layout(tp=2, dp=32, ep=8), cluster(64)) == Span(8, 1)


def test_an_all_reduce_in_a_node_of_a100_runs_at_the_ring_rate_that_nccl_assumes() -> None:
    machines = cluster(8)
    assert inside(machines) == pytest.approx(240e9)
    time = seconds_a_call(transfer(Primitive.ALL_REDUCE, 8), Span(8, 8), machines)
    assert time == pytest.approx(1.75e9 / 240e9, rel=0.02)


def test_over_nodes_a_ring_uses_the_cards_of_all_its_members_there() -> None:
    machines = cluster(64, H100)
    wide = seconds_a_call(transfer(Primitive.ALL_REDUCE, 64), Span(64, 8), machines)
    thin = seconds_a_call(transfer(Primitive.ALL_REDUCE, 8), Span(8, 1), machines)
    assert thin == pytest.approx(1.75e9 / network(machines), rel=0.02)
    assert wide < thin


def test_an_all_to_all_over_nodes_has_one_share_of_the_network_a_rank() -> None:
    machines = cluster(64, H100)
    near = seconds_a_call(transfer(Primitive.ALL_TO_ALL, 8), Span(8, 8), machines)
    far = seconds_a_call(transfer(Primitive.ALL_TO_ALL, 64), Span(64, 8), machines)
    assert far == pytest.approx(1e9 * 56 / 64 / network(machines), rel=0.02)
    assert far > 5 * near


def test_small_messages_cost_the_latency_and_a_tree_beats_a_ring_over_many_nodes() -> None:
    assert latency(Primitive.ALL_REDUCE, Span(1, 1)) == 0.0
    many, few = Span(8192, 8), Span(16, 8)
    assert latency(Primitive.ALL_GATHER, many) > 1000 * HOP_NETWORK
    assert latency(Primitive.ALL_REDUCE, many) < CALL + 40 * HOP_NETWORK
    assert latency(Primitive.ALL_REDUCE, few) <= latency(Primitive.ALL_REDUCE, many)
