"""Routing tables."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

ROUTES = """\
default via 10.3.0.1 dev ens3 proto dhcp src 10.3.0.7 metric 100
10.3.0.0/22 dev ens4 proto kernel scope link src 10.3.1.7
10.3.0.0/22 dev ens3 proto kernel scope link src 10.3.0.7 metric 100
172.17.0.0/16 dev docker0 proto kernel scope link src 172.17.0.1 linkdown
"""
OLD = """\
Kernel IP routing table
Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
0.0.0.0         10.3.0.1        0.0.0.0         UG    100    0        0 ens3
10.3.0.0        0.0.0.0         255.255.252.0   U     100    0        0 ens3
10.3.0.0        0.0.0.0         255.255.252.0   U     101    0        0 ens4
"""


def test_a_subnet_behind_two_interfaces() -> None:
    found = node(ROUTES)
    assert found["node.routes_duplicate"] == ("10.3.0.0/22: ens4 ens3",)
    assert found["node.default_interface"] == "ens3"


def test_the_old_table() -> None:
    assert node(OLD)["node.routes_duplicate"] == ("10.3.0.0/22: ens3 ens4",)


def test_two_default_routes_and_single_subnets_are_usual() -> None:
    text = (
        "default via 10.0.0.1 dev a0\ndefault via 10.1.0.1 dev b0 metric 200\n10.0.0.0/24 dev a0\n10.1.0.0/24 dev b0\n"
    )
    assert node(text)["node.routes_duplicate"] == ()


def test_the_host_in_the_files_name() -> None:
    assert facts(ROUTES, "node-3_ip_route.txt")["node:node-3", "node.default_interface"] == "ens3"


def test_the_answer_to_one_address_is_no_table() -> None:
    assert kinds("10.3.0.9 dev ens4 src 10.3.1.7 uid 0\n    cache\n") == ()


def test_damage() -> None:
    survives(ROUTES)
    survives(OLD)
