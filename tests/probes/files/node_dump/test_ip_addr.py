"""Interfaces and addresses."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

IP = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 10.1.2.3/24 brd 10.1.2.255 scope global eno1
3: ens2f1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN group default qlen 1000
4: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN group default
    inet 172.17.0.1/16 brd 172.17.255.255 scope global docker0
5: veth12@if4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master docker0 state UP group default
"""
IFCONFIG = """\
bond0: flags=5187<UP,BROADCAST,RUNNING,MASTER,MULTICAST>  mtu 4200
        inet 10.0.5.11  netmask 255.255.240.0  broadcast 10.0.15.255
lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536
        inet 127.0.0.1  netmask 255.0.0.0
"""
OLD = """\
eth0      Link encap:Ethernet  HWaddr 02:42:ac:11:00:02
          inet addr:172.17.0.2  Bcast:172.17.255.255  Mask:255.255.0.0
          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1
"""


def test_ip_addr() -> None:
    found = facts(IP)
    assert found["node:?", "node.interfaces"] == ("lo=127.0.0.1/8", "eno1=10.1.2.3/24", "docker0=172.17.0.1/16")
    assert found["node:?", "node.interface_names"] == ("lo", "eno1", "ens2f1", "docker0", "veth12")
    assert found["nic:?/eno1", "nic.state"] == "UP"
    assert found["nic:?/ens2f1", "nic.state"] == "DOWN"
    assert found["nic:?/ens2f1", "nic.mtu"] == 9000


def test_ifconfig_new_and_old() -> None:
    found = facts(IFCONFIG)
    assert found["node:?", "node.interfaces"] == ("bond0=10.0.5.11/20", "lo=127.0.0.1/8")
    assert found["nic:?/bond0", "nic.mtu"] == 4200
    found = facts(OLD)
    assert found["node:?", "node.interfaces"] == ("eth0=172.17.0.2/16",)
    assert found["nic:?/eth0", "nic.state"] == "UP"


def test_brief() -> None:
    found = facts("$ ip -br addr\nlo  UNKNOWN  127.0.0.1/8 ::1/128\nib0  DOWN\neth0@if9  UP  10.4.0.2/24\n")
    assert found["node:?", "node.interfaces"] == ("lo=127.0.0.1/8", "eth0=10.4.0.2/24")
    assert found["nic:?/ib0", "nic.state"] == "DOWN"


def test_an_interface_that_does_not_exist() -> None:
    assert node('$ ip addr show dev ib9\nDevice "ib9" does not exist.\n') == {"node.interfaces_missing": ("ib9",)}


def test_nccl_lines_and_states_of_pods_are_none() -> None:
    assert kinds("NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nset mtu 1500 please\n") == ()
    assert kinds("worker UP\nmaster DOWN\n") == ()


def test_damage() -> None:
    survives(IP)
    survives(IFCONFIG)
    survives(OLD)
