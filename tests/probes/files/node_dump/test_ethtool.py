"""Ethernet links and counters."""

from __future__ import annotations

from probes.files.node_dump import read_dump
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


def test_rdma_statistic_in_words_and_as_json() -> None:
    words = "link mlx5_2/1 rx_write_requests 900 out_of_sequence 41 packet_seq_err 2 np_cnp_sent 0 \n"
    assert facts(words)["nic:?/mlx5_2", "nic.counters"] == ("out_of_sequence=41", "packet_seq_err=2", "np_cnp_sent=0")
    json = '[{"ifname":"mlx5_2","port":1,"rx_write_requests":900,"out_of_sequence":41,"rnr_nak_retry_err":7}]\n'
    assert facts(json)["nic:?/mlx5_2", "nic.counters"] == ("out_of_sequence=41", "rnr_nak_retry_err=7")


def test_perfquery_of_a_named_adapter() -> None:
    found = facts("$ perfquery -C mlx5_3 -P 1\n# Port counters: Lid 7 port 1\nSymbolErrorCounter:..............12\n")
    assert found["nic:?/mlx5_3", "nic.counters"] == ("symbol_error=12",)


def test_counters_that_come_again_are_the_next_sample() -> None:
    two = FILES + FILES.replace("link_downed:2", "link_downed:3")
    found = [fact.value for fact in read_dump("c.txt", two.encode()).facts if fact.name == "nic.counters"]
    assert found == [
        ("link_downed=2", "symbol_error=0", "out_of_sequence=991"),
        ("link_downed=3", "symbol_error=0", "out_of_sequence=991"),
    ]


def test_priorities_are_added_up() -> None:
    found = facts("$ ethtool -S eth2\nNIC statistics:\n     rx_prio0_pause: 3\n     rx_prio3_pause: 900\n")
    assert found["nic:?/eth2", "nic.counters"] == ("rx_prio_pause=903",)


def test_a_log_with_speed_is_none() -> None:
    assert kinds("Speed: 100 it/s\nrx_errors: 3\n") == ()


def test_damage() -> None:
    survives(
        SETTINGS + STATISTICS + FILES + "link mlx5_2/1 rx_write_requests 900 out_of_sequence 41 packet_seq_err 2 \n"
    )
