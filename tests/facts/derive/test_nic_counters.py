"""What ports did between two readings of their counters."""

from __future__ import annotations

from doctor.facts.derive.nic_counters import GIVES, derive
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore


def derived(*facts: tuple[str, str, Value]) -> dict[tuple[str, str], Value]:
    known = (Fact(name, value, entity, Source("dump", "x", at)) for at, (entity, name, value) in enumerate(facts, 1))
    found = list(derive(FactStore(known)))
    assert {fact.name for fact in found} <= set(GIVES)
    assert all(fact.because for fact in found)
    return {(fact.entity, fact.name): fact.value for fact in found}


def test_growth_between_two_readings() -> None:
    nic = "nic:n1/mlx5_0"
    first = ("symbol_error=5", "link_downed=1", "packet_seq_err=0", "np_cnp_sent=7", "out_of_buffer=2")
    last = ("symbol_error=42", "link_downed=2", "packet_seq_err=9", "np_cnp_sent=7", "out_of_buffer=2")
    found = derived((nic, "nic.counters", first), (nic, "nic.counters", last))
    assert found[nic, "nic.moved"] == ("symbol_error +37", "link_downed +1", "packet_seq_err +9")
    assert [found[nic, f"nic.moved_{kind}"] for kind in ("downed", "link", "lost", "congestion")] == [1, 38, 9, 0]


def test_one_reading_and_counters_that_were_reset_say_nothing() -> None:
    nic = "nic:n1/mlx5_0"
    assert derived((nic, "nic.counters", ("symbol_error=9999",))) == {}
    found = derived((nic, "nic.counters", ("symbol_error=99",)), (nic, "nic.counters", ("symbol_error=3", "x=1")))
    assert found[nic, "nic.moved"] == ()


def test_packets_out_of_order_alone_are_no_loss() -> None:
    nic = "nic:n1/mlx5_0"
    found = derived((nic, "nic.counters", ("out_of_sequence=1",)), (nic, "nic.counters", ("out_of_sequence=900",)))
    assert found[nic, "nic.moved_lost"] == 0


def ports(*rates: float, layer: str = "InfiniBand", state: str = "ACTIVE") -> list[tuple[str, str, Value]]:
    facts: list[tuple[str, str, Value]] = []
    for at, rate in enumerate(rates):
        nic = f"nic:n1/mlx5_{at}"
        facts += [(nic, "nic.rate", rate), (nic, "nic.link_layer", layer), (nic, "nic.state", state)]
    return facts


def test_a_port_slower_than_most() -> None:
    found = derived(*ports(50e9, 50e9, 50e9, 25e9))
    assert found == {("nic:n1/mlx5_3", "nic.slower_than_siblings"): "25 GB/s of 50 GB/s"}


def test_two_kinds_of_ports_have_two_purposes() -> None:
    assert derived(*ports(50e9, 50e9, 25e9, 25e9)) == {}
    assert derived(*ports(50e9, 50e9, 50e9, 25e9, state="DOWN")) == {}


def test_a_port_that_is_down_among_ports_that_are_up() -> None:
    found = derived(
        *ports(50e9, 50e9, 50e9), ("nic:n1/z", "nic.link_layer", "InfiniBand"), ("nic:n1/z", "nic.state", "DOWN")
    )
    assert [nic for (nic, name), value in found.items() if name == "nic.down_among_siblings" and value] == ["nic:n1/z"]
    alone = derived(*ports(50e9), ("nic:n1/z", "nic.link_layer", "InfiniBand"), ("nic:n1/z", "nic.state", "DOWN"))
    assert not any(name == "nic.down_among_siblings" for _, name in alone)
