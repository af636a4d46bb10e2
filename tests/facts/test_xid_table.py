"""The table of Xid codes and the decoding of NVLink 5 messages."""

from __future__ import annotations

import pytest

from doctor.facts.xid_table import FAMILIES, decode, xids


def test_every_code_has_a_family_and_a_meaning_in_both_languages() -> None:
    assert sorted(xids()) == list(range(1, 173))
    for xid in xids().values():
        assert xid.family in FAMILIES
        assert xid.en and xid.zh


@pytest.mark.parametrize(
    ("code", "family", "action"),
    [(48, "ecc", "WORKFLOW_XID_48"), (79, "bus", "RESTART_BM"), (31, "application", "RESTART_APP")],
)
def test_codes_are_told_apart(code: int, family: str, action: str) -> None:
    assert (xids()[code].family, xids()[code].action) == (family, action)


def test_the_sub_code_of_a_link_event_names_who_is_to_be_looked_at() -> None:
    found = decode(149, "149, NETIR_LINK_EVT Fatal XC0 i0 Link 04 (0x025001c6 0x00000000 0x00000000)")
    assert found is not None
    assert (found.unit, found.link, found.subcode) == ("NETIR_LINK_EVT", 4, 37)
    assert (found.resolution, found.investigate) == ("RESET_GPU", "INVESTIGATE_PEER_DEVICE")


def test_the_error_status_decides_where_one_unit_has_several() -> None:
    line = "RLW_REMAP Nonfatal XC0 i0 Link 13 (0x00000082 {} 0x00000001)"
    reset, ignored = decode(145, line.format("0x00000040")), decode(145, line.format("0x00000100"))
    assert reset is not None and reset.resolution == "RESET_GPU"
    assert ignored is not None and ignored.resolution == "IGNORE"


def test_the_gravest_of_several_status_bits_counts() -> None:
    found = decode(145, "RLW_REMAP Fatal XC0 i0 Link 13 (0x00000082 0x00000140)")
    assert found is not None and found.resolution == "RESET_GPU"


def test_a_message_without_a_row_keeps_its_severity() -> None:
    found = decode(149, "NETIR_NEW_UNIT Fatal XC0 i0 Link -1 (0x000fe406)")
    assert found is not None and found.fatal and found.resolution == ""


@pytest.mark.parametrize("text", ["", "GPU has fallen off the bus.", "NETIR Fatal XC0", "x" * 100_000])
def test_other_messages_are_not_decoded(text: str) -> None:
    assert decode(149, text) is None
