"""Names and addresses."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

HOSTS = """\
127.0.0.1 localhost
127.0.1.1 trainer-a trainer-a.lan
# 10.0.0.8 old
10.0.0.9 trainer-b   # new
::1 ip6-localhost ip6-loopback
"""


def test_a_host_name_on_loopback() -> None:
    found = node(HOSTS)
    assert found["node.hosts_loopback"] == ("trainer-a", "trainer-a.lan")
    assert found["node.hosts_entries"] == ("trainer-a=127.0.1.1", "trainer-a.lan=127.0.1.1", "trainer-b=10.0.0.9")


def test_localhost_alone_is_as_it_should_be() -> None:
    assert node("127.0.0.1 localhost localhost.localdomain\n10.0.0.9 trainer-b\n")["node.hosts_loopback"] == ()


def test_getent() -> None:
    found = facts("root@n1:~# getent hosts n1\n127.0.1.1       n1\n")
    assert found["node:n1", "node.hosts_loopback"] == ("n1",)


def test_names_that_do_not_resolve() -> None:
    assert node("$ ping n2\nping: n2: Name or service not known\n")["node.hosts_unresolved"] == ("n2",)
    assert node("** server can't find n3.lan: NXDOMAIN\n")["node.hosts_unresolved"] == ("n3.lan",)


def test_addresses_in_a_log_are_none() -> None:
    assert kinds("10.0.0.1 connected\n10.0.0.2 connected\n127.0.0.1 ready\nstep 1\nstep 2\nstep 3\nstep 4\n") == ()


def test_damage() -> None:
    survives(HOSTS)
