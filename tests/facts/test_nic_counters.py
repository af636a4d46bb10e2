"""One name for each counter of a port."""

from __future__ import annotations

import pytest

from doctor.facts.nic_counters import KINDS, counter, counters


def test_every_counter_has_a_kind_and_a_meaning_in_both_languages() -> None:
    for known in counters().values():
        assert known.kind in KINDS and known.en and known.zh


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("SymbolErrorCounter", "symbol_error"),
        ("LinkDownedCounter", "link_downed"),
        ("PortRcvRemotePhysicalErrors", "port_rcv_remote_physical_errors"),
        ("PortXmitDiscards", "port_xmit_discards"),
        ("rx_prio3_pause", "rx_prio_pause"),
        ("out_of_sequence", "out_of_sequence"),
        ("ExcessiveBufferOverrunErrors", "excessive_buffer_overrun_errors"),
    ],
)
def test_tools_call_one_counter_differently(told: str, name: str) -> None:
    found = counter(told)
    assert found is not None and found.name == name


@pytest.mark.parametrize("told", ["rx_packets", "PortXmitData", "port_rcv_data", "rx_prio3_pause_duration", ""])
def test_traffic_is_no_fault(told: str) -> None:
    assert counter(told) is None
