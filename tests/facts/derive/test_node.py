"""What dumps of nodes say together."""

from __future__ import annotations

from doctor.facts.derive.node import GIVES, derive
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore


def derived(*facts: tuple[str, str, Value]) -> dict[tuple[str, str], Fact]:
    store = FactStore(Fact(name, value, entity, Source("dump", "x.txt", 1, name)) for entity, name, value in facts)
    found = list(derive(store))
    assert {fact.name for fact in found} <= set(GIVES)
    assert all(fact.because for fact in found)
    return {(fact.entity, fact.name): fact for fact in found}


def test_free_memory_is_what_others_left() -> None:
    found = derived(("gpu:n1/0", "gpu.memory_total", 100), ("gpu:n1/0", "gpu.memory_used", 60))
    assert found["gpu:n1/0", "gpu.memory_free"].value == 40


def test_a_stated_free_memory_is_kept() -> None:
    found = derived(
        ("gpu:n1/0", "gpu.memory_total", 100), ("gpu:n1/0", "gpu.memory_used", 60), ("gpu:n1/0", "gpu.memory_free", 38)
    )
    assert ("gpu:n1/0", "gpu.memory_free") not in found


def test_a_process_on_two_gpus_is_named() -> None:
    found = derived(("gpu:?/0", "gpu.process_pids", (11, 12)), ("gpu:?/1", "gpu.process_pids", (12,)))
    assert found["node:?", "node.gpus_sharing_pid"].value == (12,)
    assert found["gpu:?/0", "gpu.process_count"].value == 2


def test_one_process_a_gpu_is_as_it_should_be() -> None:
    found = derived(("gpu:?/0", "gpu.process_pids", (11,)), ("gpu:?/1", "gpu.process_pids", (12,)))
    assert found["node:?", "node.gpus_sharing_pid"].value == ()


def test_equal_pids_on_two_nodes_share_nothing() -> None:
    found = derived(("gpu:a/0", "gpu.process_pids", (11,)), ("gpu:b/0", "gpu.process_pids", (11,)))
    assert not [key for key in found if key[1] == "node.gpus_sharing_pid"]


def test_a_power_cap_is_no_throttling() -> None:
    found = derived(
        ("gpu:a/0", "gpu.throttle_reasons", ("sw_power_cap",)),
        ("gpu:a/1", "gpu.throttle_reasons", ("sw_power_cap", "hw_thermal_slowdown")),
    )
    assert found["gpu:a/0", "gpu.throttled"].value is False
    assert found["gpu:a/1", "gpu.throttled"].value is True


def test_a_working_gpu_with_a_low_clock_stands_out() -> None:
    clocks = [1980e6, 1965e6, 1980e6, 1200e6]
    facts = [(f"gpu:a/{i}", "gpu.sm_clock", clock) for i, clock in enumerate(clocks)]
    busy = [(f"gpu:a/{i}", "gpu.utilization", 0.99) for i in range(4)]
    found = derived(*facts, *busy)
    assert [found[f"gpu:a/{i}", "gpu.slower_clock"].value for i in range(4)] == [False, False, False, True]


def test_an_idle_gpu_with_a_low_clock_does_not() -> None:
    facts = [(f"gpu:a/{i}", "gpu.sm_clock", 1980e6 if i else 345e6) for i in range(4)]
    loads = [(f"gpu:a/{i}", "gpu.utilization", 0.99 if i else 0.0) for i in range(4)]
    found = derived(*facts, *loads)
    assert ("gpu:a/0", "gpu.slower_clock") not in found
    assert found["node:a", "node.gpus_idle"].value == 1


def test_two_interfaces_in_one_subnet_are_told() -> None:
    found = derived(("node:a", "node.interfaces", ("lo=127.0.0.1/8", "eno1=10.2.0.5/20", "eno2=10.2.1.6/20")))
    assert found["node:a", "node.subnets_shared"].value == ("10.2.0.0/20: eno1 eno2",)


def test_separate_subnets_aliases_and_nonsense_are_not() -> None:
    found = derived(
        (
            "node:a",
            "node.interfaces",
            ("eno1=10.2.0.5/24", "eno2=10.2.1.6/24", "eno1:0=10.2.0.9/24", "x=y", "eno3=10.9.9.9"),
        )
    )
    assert found["node:a", "node.subnets_shared"].value == ()


def test_fabric_manager_must_have_the_drivers_version() -> None:
    found = derived(
        ("node:a", "node.driver_version", "535.129.03"), ("node:a", "node.fabric_manager_version", "535.104.05")
    )
    assert found["node:a", "node.fabric_manager_mismatch"].value is True


def test_ports_are_compared_among_nodes() -> None:
    found = derived(
        *(
            ("nic:a/mlx5_0", name, value)
            for name, value in (("nic.state", "ACTIVE"), ("nic.link_layer", "Ethernet"), ("nic.mtu", 4096))
        ),
        *(
            ("nic:b/mlx5_0", name, value)
            for name, value in (("nic.state", "ACTIVE"), ("nic.link_layer", "Ethernet"), ("nic.mtu", 1024))
        ),
        *(
            ("nic:b/mlx5_1", name, value)
            for name, value in (("nic.state", "DOWN"), ("nic.link_layer", "InfiniBand"), ("nic.mtu", 4096))
        ),
    )
    assert found["job", "nic.mtu_differs"].value is True
    assert found["job", "nic.link_layers_differ"].value is False
    assert found["job", "nic.ports_down"].value == ("b/mlx5_1",)


def test_plain_interfaces_are_no_rdma_ports() -> None:
    found = derived(("nic:a/eth0", "nic.state", "UP"), ("nic:a/eth0", "nic.mtu", 1500), ("nic:a/ib0", "nic.mtu", 2044))
    assert found == {}


def test_a_containers_options_hold_where_nothing_was_measured() -> None:
    found = derived(
        ("node:?", "container.shm_size", 64 << 20),
        ("node:b", "container.shm_size", 64 << 20),
        ("node:b", "node.shm_total", 5),
    )
    assert found["node:?", "node.shm_total"].value == 64 << 20
    assert ("node:b", "node.shm_total") not in found
