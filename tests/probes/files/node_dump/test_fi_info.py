"""Providers of libfabric."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

EFA = """\
provider: efa
    fabric: efa
    domain: rdmap79s0-rdm
    version: 121.0
    type: FI_EP_RDM
    protocol: FI_PROTO_EFA
provider: tcp
    fabric: 10.0.0.0/16
    domain: eth0
"""


def test_efa_is_there() -> None:
    found = node(EFA)
    assert found["node.efa_available"] is True
    assert found["node.libfabric_providers"] == ("efa", "tcp")
    assert found["node.efa_devices"] == ("rdmap79s0",)


def test_only_tcp() -> None:
    assert node("provider: tcp\n    fabric: 10.0.0.0/16\n    domain: eth0\n")["node.efa_available"] is False


def test_nothing_found() -> None:
    found = node("$ fi_info -p efa\nfi_getinfo: -61 (No data available)\n")
    assert found["node.efa_available"] is False


def test_a_cloud_provider_is_none() -> None:
    assert kinds("provider: aws\nregion: us-east-1\n") == ()


def test_damage() -> None:
    survives(EFA)
