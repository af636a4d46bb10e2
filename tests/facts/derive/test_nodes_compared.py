"""Nodes beside each other: what should be alike and is not, and which node is the odd one out."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts.derive.nodes_compared import derive
from doctor.facts.model import Fact, Quality, Value
from doctor.facts.store import FactStore

DIFFERENCES = "job.node_differences"


def derived(values: Mapping[str, Mapping[str, Value]]) -> dict[tuple[str, str], Value]:
    facts = [Fact(name, value, entity) for entity, own in values.items() for name, value in own.items()]
    return {(fact.name, fact.entity): fact.value for fact in derive(FactStore(facts))}


def nodes(name: str, *values: Value) -> dict[str, dict[str, Value]]:
    return {f"node:n{number}": {name: value} for number, value in enumerate(values, 1)}


def test_the_node_that_differs_from_most_is_odd() -> None:
    found = derived(nodes("node.driver_version", "550.54", "535.1", "550.54"))
    assert found[DIFFERENCES, "job"] == ("node.driver_version: 550.54 on n1, n3; 535.1 on n2",)
    assert found["node.odd", "node:n2"] == ("node.driver_version: 535.1; the others 550.54",)


def test_of_two_nodes_none_is_odd() -> None:
    assert derived(nodes("node.open_files", 1024, 65536)) == {
        (DIFFERENCES, "job"): ("node.open_files: 1024 on n1; 65536 on n2",)
    }


def test_alike_is_said_too_and_one_node_says_nothing() -> None:
    assert derived(nodes("node.kernel", "5.15", "5.15")) == {(DIFFERENCES, "job"): ()}
    assert derived(nodes("node.kernel", "5.15")) == {}


def test_sizes_that_differ_by_little_are_alike() -> None:
    assert derived(nodes("node.memory_total", 2163 << 30, 2160 << 30, 2164 << 30)) == {(DIFFERENCES, "job"): ()}
    assert derived(nodes("node.memory_total", 2163 << 30, 1080 << 30, 2164 << 30))[DIFFERENCES, "job"]


def test_gpus_and_ports_of_a_node_are_taken_together() -> None:
    values: dict[str, dict[str, Value]] = {
        f"gpu:n{node}/{index}": {"gpu.power_limit": 500.0 if (node, index) == (2, 1) else 700.0}
        for node in range(4)
        for index in range(2)
    }
    values |= {
        f"nic:n{node}/mlx5_0": {"nic.link_layer": "InfiniBand", "nic.rate": 25e9 if node == 3 else 50e9}
        for node in range(4)
    }
    found = derived(values)
    assert found["node.odd", "node:n2"] == ("gpu.power_limit: 500, 700; the others 700",)
    assert found["node.odd", "node:n3"] == ("nic.rate: 200 Gbit/s; the others 400 Gbit/s",)


def test_interfaces_beside_rdma_are_compared_by_the_default_route_alone() -> None:
    values: dict[str, dict[str, Value]] = {f"node:n{n}": {"node.default_interface": "eth0"} for n in range(2)}
    values |= {f"nic:n{n}/eth0": {"nic.mtu": 9000 if n else 1500} for n in range(2)}
    values |= {f"nic:n{n}/docker0": {"nic.mtu": 1500 + n} for n in range(2)}
    assert derived(values)[DIFFERENCES, "job"] == ("nic.mtu of the default route: 1500 on n0; 9000 on n1",)


def test_a_variable_may_be_missing_where_others_are_set_and_ranks_have_their_own() -> None:
    values: dict[str, dict[str, Value]] = {
        "node:n1": {"env.OMP_NUM_THREADS": "8", "env.NODE_RANK": "0"},
        "node:n2": {"env.UCX_TLS": "tcp", "env.NODE_RANK": "1", "env.OMP_NUM_THREADS": "8"},
        "node:n3": {"node.kernel": "5"},
    }
    found = derived(values)[DIFFERENCES, "job"]
    assert found == ("UCX_TLS: tcp on n2; not set on n1",)


def test_what_could_not_be_read_is_no_difference() -> None:
    facts = [
        Fact("node.kernel", "no such file", "node:n1", quality=Quality.FAILED),
        Fact("node.kernel", "5.15", "node:n2"),
        Fact("node.kernel", "5.15", "node:n3"),
    ]
    assert [fact.value for fact in derive(FactStore(facts))] == [()]


def test_many_nodes_are_counted_and_not_named() -> None:
    found = derived(nodes("node.kernel", *["5.15"] * 9, "5.4"))
    assert found[DIFFERENCES, "job"] == ("node.kernel: 5.15 on 9 nodes; 5.4 on n10",)
