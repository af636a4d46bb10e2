"""Bandwidth outside a job."""

from __future__ import annotations

import pytest

from tests.probes.files.node_dump.dumps import kinds, node, survives

PERFTEST = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             392.10             390.40               0.744
"""
IPERF = """\
[  5]   0.00-10.00  sec  10.9 GBytes  9.38 Gbits/sec    4             sender
[  5]   0.00-10.04  sec  10.9 GBytes  9.34 Gbits/sec                  receiver
"""


def test_perftest() -> None:
    assert node(PERFTEST)["node.ib_bandwidth"] == pytest.approx(48.8e9)
    assert node(PERFTEST.replace("Gb/sec", "MB/sec"))["node.ib_bandwidth"] == pytest.approx(390.4 * 2**20)


def test_a_note() -> None:
    assert node("ib_write_bw: 97.2 Gb/s\n")["node.ib_bandwidth"] == pytest.approx(12.15e9)


def test_iperf() -> None:
    assert node(IPERF)["node.tcp_bandwidth"] == pytest.approx(9.34e9 / 8)


def test_a_test_that_failed() -> None:
    assert node("$ ib_write_bw -d mlx5_0 10.0.0.2\n Failed to modify QP 133 to RTR\n")["node.perftest_error"] == (
        "Failed to modify QP 133 to RTR"
    )


def test_a_mention_is_none() -> None:
    assert kinds("we ran ib_write_bw and it was good\n65536 5000 1.0 2.0 3.0\n") == ()


def test_damage() -> None:
    survives(PERFTEST)
    survives(IPERF)
