"""Lists of hosts in the notation of Slurm."""

from __future__ import annotations

import pytest

from doctor.session.hostlist import MOST_HOSTS, hosts_in


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a,b c", ["a", "b", "c"]),
        ("gpu[01-03,7],head", ["gpu01", "gpu02", "gpu03", "gpu7", "head"]),
        ("r[1-2]n[3-4].x", ["r1n3.x", "r1n4.x", "r2n3.x", "r2n4.x"]),
        ("a,a", ["a"]),
        ("gpu[", ["gpu"]),
        ("gpu[3-1]", ["gpu3-1"]),
        ("", []),
    ],
)
def test_ranges_are_expanded(text: str, hosts: list[str]) -> None:
    assert hosts_in(text) == hosts


def test_a_list_without_end_is_cut() -> None:
    assert len(hosts_in("n[1-999999999]")) == MOST_HOSTS


@pytest.mark.parametrize("bracket", ["[1]", "[1,1]", "[1-9999]"])
def test_brackets_without_end_are_no_host(bracket: str) -> None:
    assert hosts_in("a" + bracket * 3000) == ["a" + bracket * 3000]


def test_a_number_said_twice_is_one_host() -> None:
    assert hosts_in("a" + "[1,1]" * 8) == ["a11111111"]
    assert len(hosts_in("a" + "[1-9999]" * 8)) == MOST_HOSTS
