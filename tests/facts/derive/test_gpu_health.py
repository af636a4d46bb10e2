"""GPUs beside each other and beside what their model can do."""

from __future__ import annotations

import pytest

from doctor.facts.derive.gpu_health import GIVES, derive
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore


def derived(*facts: tuple[str, str, Value]) -> dict[tuple[str, str], Value]:
    store = FactStore(Fact(name, value, entity, Source("dump", "x.txt", 1, name)) for entity, name, value in facts)
    found = list(derive(store))
    assert {fact.name for fact in found} <= set(GIVES)
    assert all(fact.because for fact in found)
    return {(fact.entity, fact.name): fact.value for fact in found}


def gpu(index: int, **values: Value) -> list[tuple[str, str, Value]]:
    return [(f"gpu:n1/{index}", f"gpu.{name}", value) for name, value in values.items()]


@pytest.mark.parametrize(("limit", "lowered"), [(700.0, False), (699.0, False), (500.0, True)])
def test_a_power_limit_below_the_factory_s(limit: float, lowered: bool) -> None:
    found = derived(*gpu(0, power_limit=limit, power_limit_default=700.0))
    assert found["gpu:n1/0", "gpu.power_limit_lowered"] is lowered


def test_only_the_link_of_a_working_gpu_is_judged_by_its_generation() -> None:
    assert derived(*gpu(0, pcie_gen=1, pcie_gen_max=5, utilization=0.99))["gpu:n1/0", "gpu.pcie_slow"] is True
    assert derived(*gpu(0, pcie_gen=5, pcie_gen_max=5, utilization=0.99))["gpu:n1/0", "gpu.pcie_slow"] is False
    assert ("gpu:n1/0", "gpu.pcie_slow") not in derived(*gpu(0, pcie_gen=1, pcie_gen_max=5, utilization=0.0))


@pytest.mark.parametrize(
    ("values", "low"),
    [
        ({"sm_clock": 1980e6}, False),
        ({"sm_clock": 1000e6}, True),
        ({"sm_clock": 1000e6, "throttle_reasons": ("applications_clocks",)}, True),
        ({"sm_clock": 1000e6, "throttle_reasons": ("sw_power_cap",)}, False),
        ({"sm_clock": 1980e6, "performance_state": "P8"}, True),
        ({"sm_clock": 1980e6, "performance_state": "P2"}, False),
        ({"sm_clock": 1980e6, "performance_state": "Pnonsense"}, False),
    ],
)
def test_a_low_clock_that_nothing_accounts_for(values: dict[str, Value], low: bool) -> None:
    found = derived(*gpu(0, sm_clock_max=1980e6, utilization=1.0, **values))
    assert found["gpu:n1/0", "gpu.clock_low"] is low


def links(name: str, *active: int, of: int) -> list[tuple[str, str, Value]]:
    facts = [gpu(i, name=name, nvlinks_active=count, nvlinks_inactive=of - count) for i, count in enumerate(active)]
    return [fact for group in facts for fact in group]


@pytest.mark.parametrize(
    ("name", "active", "of", "missing"),
    [
        ("NVIDIA H100 80GB HBM3", (18, 18), 18, [False, False]),
        ("NVIDIA H100 80GB HBM3", (18, 16), 18, [False, True]),
        ("NVIDIA A100-SXM4-80GB", (10, 10), 12, [True, True]),
        ("NVIDIA A100 80GB PCIe", (4, 4), 12, [False, False]),
        ("NVIDIA A100 80GB PCIe", (4, 0), 12, [False, True]),
        ("NVIDIA RTX A6000", (0, 0), 4, [False, False]),
        ("NVIDIA H200 NVL", (12, 12), 18, [False, False]),
    ],
)
def test_links_that_others_have(name: str, active: tuple[int, ...], of: int, missing: list[bool]) -> None:
    found = derived(*links(name, *active, of=of))
    assert [found[f"gpu:n1/{i}", "gpu.nvlinks_missing"] for i in range(len(active))] == missing


@pytest.mark.parametrize(
    ("values", "unhealthy"),
    [
        ({"fabric_status": "Success"}, False),
        ({"fabric_status": "NVML_ERROR_UNKNOWN"}, True),
        ({"fabric_bandwidth": "Degraded"}, True),
        ({"fabric_bandwidth": "Full", "fabric_health": "Healthy"}, False),
        ({"fabric_route_unhealthy": True}, True),
        ({"fabric_health": "Limited Capacity"}, True),
    ],
)
def test_a_fabric_that_is_up_and_reports_trouble(values: dict[str, Value], unhealthy: bool) -> None:
    found = derived(*gpu(0, fabric_state="Completed", **values))
    assert found["gpu:n1/0", "gpu.fabric_unhealthy"] is unhealthy


def test_a_fabric_that_is_not_up_is_judged_elsewhere() -> None:
    assert derived(*gpu(0, fabric_state="In Progress", fabric_status="N/A")) == {}


def test_a_node_with_fewer_gpus_than_the_others() -> None:
    found = derived(("node:a", "node.gpu_count", 8), ("node:b", "node.gpu_count", 7))
    assert (found["node:a", "node.gpus_missing"], found["node:b", "node.gpus_missing"]) == (0, 1)
    assert derived(("node:a", "node.gpu_count", 7)) == {}


def test_a_node_of_another_kind_misses_nothing() -> None:
    found = derived(("node:a", "node.gpu_count", 8), ("node:login", "node.gpu_count", 2))
    assert found["node:login", "node.gpus_missing"] == 0


def test_a_query_of_one_gpu_does_not_hide_the_others() -> None:
    found = derived(("node:a", "node.gpu_count", 8), ("node:b", "node.gpu_count", 8), ("node:b", "node.gpu_count", 1))
    assert found["node:b", "node.gpus_missing"] == 0


def test_a_driver_that_finds_nothing() -> None:
    assert derived(("node:a", "node.nvml_error", "No devices were found"))["node:a", "node.gpus_none"] is True
    assert (
        derived(("node:a", "node.nvml_error", "Failed to initialize NVML: Unknown Error"))["node:a", "node.gpus_none"]
        is False
    )


def test_the_models_of_a_job() -> None:
    found = derived(("gpu:a/0", "gpu.name", "NVIDIA H100"), ("gpu:b/0", "gpu.name", "NVIDIA A100"))
    assert found["job", "job.gpu_models"] == ("A100", "H100")


def test_a_name_that_is_cut_or_without_its_brand_is_the_same_model() -> None:
    names = ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", "NVIDIA A100-SXM...")
    found = derived(*((f"gpu:a/{i}", "gpu.name", name) for i, name in enumerate(names)))
    assert found["job", "job.gpu_models"] == ("A100-SXM4-80GB",)


def test_a_small_window_to_the_memory() -> None:
    assert derived(*gpu(0, bar1_total=256 << 20, memory_total=80 << 30))["gpu:n1/0", "gpu.bar1_small"] is True
    assert derived(*gpu(0, bar1_total=128 << 30, memory_total=80 << 30))["gpu:n1/0", "gpu.bar1_small"] is False
