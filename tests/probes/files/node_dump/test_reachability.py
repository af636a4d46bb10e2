"""ping and nc."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

PING = """\
PING node-2 (10.0.0.2) 56(84) bytes of data.
64 bytes from node-2 (10.0.0.2): icmp_seq=1 ttl=64 time=0.1 ms
--- node-2 ping statistics ---
4 packets transmitted, 4 received, 0% packet loss, time 3005ms
--- node-3 ping statistics ---
4 packets transmitted, 0 received, 100% packet loss, time 3070ms
"""
NC = """\
Connection to 10.0.0.2 29500 port [tcp/*] succeeded!
nc: connect to 10.0.0.3 port 29500 (tcp) failed: Connection refused
nc: connect to 10.0.0.4 port 40000 (tcp) failed: No route to host
"""


def test_ping() -> None:
    found = node(PING)
    assert found["node.ping_ok"] == ("node-2",)
    assert found["node.ping_failed"] == ("node-3",)


def test_ports() -> None:
    found = node(NC)
    assert found["node.ports_open"] == ("10.0.0.2:29500",)
    assert found["node.ports_closed"] == ("10.0.0.3:29500 Connection refused", "10.0.0.4:40000 No route to host")


def test_a_packet_longer_than_the_mtu() -> None:
    text = "PING n2 (10.0.0.2) 8972(9000) bytes of data.\nping: local error: message too long, mtu=1500\n"
    assert node(text)["node.ping_too_long"] == ("n2",)


def test_a_jobs_own_errors_are_none() -> None:
    assert kinds("torch.distributed: Connection refused by 10.0.0.2 port 29500\nConnection to host timed out\n") == ()


def test_damage() -> None:
    survives(PING + NC)
