"""Numbers as commands print them."""

from __future__ import annotations

import pytest

from probes.files.node_dump.values import UNLIMITED, bit_rate, cpu_list, integer, limit, number, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64M", 64 << 20),
        ("1.5G", 3 << 29),
        ("31842MiB", 31842 << 20),
        ("16g", 16 << 30),
        ("0", 0),
        ("0B", 0),
        ("1 GB", 1 << 30),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "M", "much", "1 2", "64Q", "-", "1e9"])
def test_what_is_no_size(text: str) -> None:
    assert size(text) is None


def test_a_number_without_a_unit_has_the_columns_unit() -> None:
    assert size("2", "K") == 2048
    assert size("2M", "K") == 2 << 20


def test_limits() -> None:
    assert limit("unlimited") == limit("-1") == UNLIMITED
    assert limit("64", 1024) == 65536
    assert limit("9" * 30) is None


def test_numbers() -> None:
    assert number("352W") == 352
    assert number("N/A") is None
    assert integer("[Unknown Error]") is None


def test_rates_are_in_bytes() -> None:
    assert bit_rate("400 Gb/sec (4X NDR)") == 50e9
    assert bit_rate("10000Mb/s") == 1.25e9
    assert bit_rate("fast") is None


def test_cpu_lists() -> None:
    assert cpu_list("0-3,8") == (0, 1, 2, 3, 8)
    assert cpu_list("x") == ()
    assert len(cpu_list("0-999999")) == 4096
