from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import look, read_node
from probes.node.interface.addresses import default_interface
from probes.node.interface.host import Ran, this_host
from probes.node.interfaces import probe
from tests.probes.node.hosts import gaps, host_of, known

ADDRESSES = """1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default
    inet 127.0.0.1/8 scope host lo
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default
    inet 192.0.2.5/24 brd 192.0.2.255 scope global eth0
"""
ROUTES = "default via 192.0.2.1 dev eth0\n192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.5\n"
FILES = {
    "/sys/class/net/lo/mtu": "65536\n",
    "/sys/class/net/eth0/mtu": "9000\n",
    "/sys/class/net/eth0/operstate": "up\n",
    "/sys/class/net/eth0/speed": "100000\n",
    "/sys/class/net/eth0/device/vendor": "0x15b3\n",
    "/sys/class/net/docker0/mtu": "1500\n",
    "/sys/class/net/docker0/operstate": "down\n",
    "/sys/class/net/docker0/speed": "-1\n",
    "/sys/class/net/bonding_masters": "bond0\n",
    "/etc/hosts": "127.0.0.1 localhost\n192.0.2.5 n1\n",
}


def ip(command: Sequence[str], seconds: float) -> Ran:
    return Ran(0, {"addr": ADDRESSES, "route": ROUTES}[command[1]], "")


def missing(command: Sequence[str], seconds: float) -> Ran:
    raise FileNotFoundError(2, "No such file or directory")


def test_state_mtu_rate_addresses_and_routes(tmp_path: Path) -> None:
    found = known(probe(replace(host_of(tmp_path, FILES), run=ip)))
    assert found["node.interface_names", "node:n1"] == ("docker0", "eth0", "lo")
    assert found["nic.state", "nic:n1/eth0"] == "UP"
    assert found["nic.mtu", "nic:n1/eth0"] == 9000
    assert found["nic.rate", "nic:n1/eth0"] == 12.5e9
    assert ("nic.rate", "nic:n1/docker0") not in found
    assert found["node.interfaces", "node:n1"] == ("lo=127.0.0.1/8", "eth0=192.0.2.5/24")
    assert found["node.default_interface", "node:n1"] == "eth0"
    assert found["node.hosts_entries", "node:n1"] == ("n1=192.0.2.5",)


def test_a_container_without_ip_still_knows_state_and_mtu(tmp_path: Path) -> None:
    given = list(probe(replace(host_of(tmp_path, FILES), run=missing)))
    assert known(given)["nic.mtu", "nic:n1/eth0"] == 9000
    assert gaps(given)["node.interfaces"] == "ip: No such file or directory"


def test_a_bridge_of_containers_beside_a_fast_card_is_no_finding(tmp_path: Path) -> None:
    host = replace(host_of(tmp_path, FILES), run=ip)
    report = judge(read_node(look(host, ["interfaces"]), load_rulebase()), Answers())
    assert report.diagnosis.findings == ()


def test_this_very_machine() -> None:
    assert known(probe(this_host()))


def test_without_ip_the_kernel_tells_the_same_of_this_machine() -> None:
    if shutil.which("ip") is None:
        pytest.skip("no program ip to compare with")
    host = replace(this_host(), name="n1")
    by_ip, by_kernel = known(probe(host)), known(probe(replace(host, run=missing)))
    for name in ("node.interfaces", "node.default_interface"):
        assert by_kernel.get((name, "node:n1")) == by_ip.get((name, "node:n1")), name


def test_the_default_route_with_the_least_metric_counts() -> None:
    head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n"
    rows = "eth1\t00000000\t0102000A\t0003\t0\t0\t200\t00000000\t0\neth0\t00000000\t0101000A\t0003\t0\t0\t100\t00000000\t0\n"
    assert default_interface(head + rows) == "eth0"
    assert default_interface(head + "eth0\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n") == ""
