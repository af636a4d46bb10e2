"""Ethernet links and counters."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, survives

SETTINGS = """\
Settings for eth2:
    Supported link modes:   1000baseKX/Full
                            25000baseCR/Full
    Speed: 10000Mb/s
    Link detected: yes
"""
STATISTICS = """\
$ ethtool -S eth2
NIC statistics:
     rx_packets: 12345
     rx_crc_errors_phy: 17
     rx_discards_phy: 0
     link_down_events_phy: 4
"""
FILES = """\
/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:2
/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:0
/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:991
"""


def test_speed_below_what_the_port_can() -> None:
    found = facts(SETTINGS)
    assert found["nic:?/eth2", "nic.rate"] == 1.25e9
    assert found["nic:?/eth2", "nic.rate_max"] == 3.125e9
    assert found["nic:?/eth2", "nic.link_detected"] is True


def test_error_counters() -> None:
    found = facts(STATISTICS)
    assert found["nic:?/eth2", "nic.errors"] == ("rx_crc_errors_phy=17", "link_down_events_phy=4")
    assert found["nic:?/eth2", "nic.link_downed"] == 4


def test_counter_files() -> None:
    found = facts(FILES)
    assert found["nic:?/mlx5_0", "nic.error_count"] == 993
    assert found["nic:?/mlx5_0", "nic.link_downed"] == 2


def test_a_log_with_speed_is_none() -> None:
    assert kinds("Speed: 100 it/s\nrx_errors: 3\n") == ()


def test_damage() -> None:
    survives(SETTINGS + STATISTICS + FILES)
