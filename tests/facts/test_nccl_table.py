"""The table of NCCL's variables and the names that people mistype."""

from __future__ import annotations

import pytest

from doctor.facts.nccl_table import distance, suggestion, variables

KINDS = {"int", "bool", "level", "choice", "names", "algo", "proto", "subsys", "text"}


def test_every_variable_has_a_kind_and_every_danger_a_text_in_both_languages() -> None:
    assert len(variables()) > 290
    for variable in variables().values():
        assert variable.kind in KINDS
        assert bool(variable.danger) == bool(variable.when) == bool(variable.en) == bool(variable.zh)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("NCCL_P2P_DISBALE", "NCCL_P2P_DISABLE"),
        ("NCCL_DISABLE_P2P", "NCCL_P2P_DISABLE"),
        ("NCCL_SOCKET_IF_NAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_IB_HCAS", "NCCL_IB_HCA"),
        ("NCLL_DEBUG", "NCCL_DEBUG"),
        ("TORCH_NCCL_BLOCKING_WAITS", "TORCH_NCCL_BLOCKING_WAIT"),
    ],
)
def test_a_mistyped_name_leads_to_the_right_one(typed: str, meant: str) -> None:
    assert suggestion(typed) == meant


@pytest.mark.parametrize(
    "name",
    [
        *("NCCL_DEBUG", "NCCL_BLOCKING_WAIT", "NCCL_OFI_PROTOCOL", "NCCL_TUNER_CONFIG_PATH", "NCCL_VERSION"),
        *("NCCL_FASTRAK_CTRL_DEV", "NCCL_SOMETHING_OF_TOMORROW", "NCCL_ROOT", "RCCL_MSCCL_ENABLE", "NCCL_" + "X" * 999),
    ],
)
def test_what_is_right_or_belongs_to_another_program_is_left_alone(name: str) -> None:
    assert suggestion(name) == ""


def test_swapped_letters_are_one_mistake() -> None:
    assert distance("DISBALE", "DISABLE") == 1
    assert distance("", "AB") == 2
