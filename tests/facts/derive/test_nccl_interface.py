"""The interface NCCL takes. The cases marked so were answered by the real libnccl in network namespaces."""

from __future__ import annotations

from ipaddress import IPv4Interface

import pytest

from doctor.facts.derive.nccl_interface import GIVES, choose, derive
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore


def up(names: str) -> list[tuple[str, IPv4Interface]]:
    return [(n, IPv4Interface("127.0.0.1/8" if n == "lo" else f"10.{i}.0.2/16")) for i, n in enumerate(names.split())]


@pytest.mark.parametrize(
    ("names", "setting", "taken"),
    [
        # answered by libnccl
        ("lo docker0 eth0", "", "eth0"),
        ("lo docker0", "", "docker0"),
        ("lo", "", "lo"),
        ("lo eth0 ib0", "", "ib0"),
        ("lo docker0 virbr0 eno1", "", "eno1"),
        ("lo eth0 eth1 eth10", "eth1", "eth1"),
        ("lo eth0 eth1", "^eth0", "lo"),
        ("lo eth0", "ib", ""),
        # by the source
        ("lo eth10 eth1", "eth1", "eth10"),
        ("lo eth10 eth1", "=eth1", "eth1"),
        ("lo eth0 eth1", "eth1,eth0", "eth0"),
        ("lo cni0 eth0", "", "cni0"),
        ("lo virbr0", "", "lo"),
        ("virbr0", "", "virbr0"),
        ("lo eth0", "x", "eth0"),  # one letter is not read
        ("", "", ""),
    ],
)
def test_which_interface_is_taken(names: str, setting: str, taken: str) -> None:
    choice = choose(up(names), setting)
    assert choice.name == taken and choice.why


def test_the_subnet_of_the_given_address_comes_before_the_order() -> None:
    assert choose(up("lo eth0 eth1"), comm_id="10.2.7.7:4000").name == "eth1"
    assert choose(up("lo eth0 eth1"), comm_id="node7:4000").name == "eth0"
    assert choose(up("lo eth0 ib0"), comm_id="10.1.7.7:4000").name == "ib0"


def derived(facts: dict[tuple[str, str], Value]) -> dict[tuple[str, str], Value]:
    found = list(derive(FactStore(Fact(n, v, e, Source("probe", "x")) for (e, n), v in facts.items())))
    assert {fact.name for fact in found} <= set(GIVES)
    return {(fact.entity, fact.name): fact.value for fact in found}


LISTED = ("node:n1", "node.interfaces"), ("lo=127.0.0.1/8", "eth0=10.1.0.2/16", "eth1=10.2.0.2/16")


def test_interfaces_that_are_down_do_not_count() -> None:
    found = derived({LISTED[0]: LISTED[1], ("nic:n1/eth0", "nic.state"): "DOWN"})
    assert found["node:n1", "node.nccl_interface"] == "eth1"
    assert found["node:n1", "node.nccl_interface_why"] == "it is the first that is no docker, lo or virbr"


def test_what_was_not_read_is_not_guessed() -> None:
    assert derived({LISTED[0]: LISTED[1], ("job", "env.NCCL_SOCKET_FAMILY"): "AF_INET6"}) == {}
    assert derived({("node:n1", "node.interfaces"): ("docker0=172.17.0.1/16",)}) == {}  # the answer about one of them
    assert derived({LISTED[0]: LISTED[1], ("job", "env.NCCL_SOCKET_IFNAME"): "$IFACE"}) == {}


def test_a_choice_is_wrong_only_for_a_job_over_several_nodes() -> None:
    facts: dict[tuple[str, str], Value] = {LISTED[0]: LISTED[1], ("job", "env.NCCL_SOCKET_IFNAME"): "^eth"}
    assert ("job", "nccl.interface_choice_wrong") not in derived(facts)
    ranks: dict[tuple[str, str], Value] = {("job", "env.WORLD_SIZE"): "16", ("job", "env.LOCAL_WORLD_SIZE"): "8"}
    wrong = derived(facts | ranks)["job", "nccl.interface_choice_wrong"]
    assert wrong == ("n1: lo (it is the first that NCCL_SOCKET_IFNAME=^eth selects)",)
    assert derived({LISTED[0]: LISTED[1]} | ranks)["job", "nccl.interface_choice_wrong"] == ()
