"""Output of amd-smi, as JSON and as text."""

from __future__ import annotations

import pytest

from probes.files.node_dump import read_dump
from tests.probes.amd_cards import TEXT, metric, static, topology
from tests.probes.files.node_dump.dumps import facts, kinds, survives


@pytest.mark.parametrize("wrapped", [True, False])
def test_measurements_of_both_versions(wrapped: bool) -> None:
    found = facts(metric(wrapped=wrapped))
    assert found["node:?", "node.gpu_count"] == 2
    assert found["gpu:?/1", "gpu.vendor"] == "AMD"
    assert found["gpu:?/1", "gpu.memory_total"] == 196592 << 20
    assert found["gpu:?/0", "gpu.power"] == 141
    assert found["gpu:?/0", "gpu.sm_clock"] == 132e6
    assert found["gpu:?/0", "gpu.temperature_hotspot"] == 43
    assert ("gpu:?/0", "gpu.temperature") not in found
    assert (found["gpu:?/0", "gpu.pcie_width"], found["gpu:?/0", "gpu.ecc_uncorrectable"]) == (16, 0)
    assert found["gpu:?/0", "gpu.xgmi_error"] == "no_errors"
    assert found["gpu:?/0", "gpu.throttle_reasons"] == ()


def test_faults_are_told_of_their_card_with_their_line() -> None:
    ecc = {"total_correctable_count": 7, "total_uncorrectable_count": 2}
    hot = {"ppt_violation_status": "ACTIVE", "hbm_thermal_violation_status": "ACTIVE"}
    text = metric(3, {1: {"ecc": ecc}, 2: {"throttle": hot, "xgmi_err": "AMDSMI_XGMI_STATUS_MULTIPLE_ERRORS"}})
    found = facts(text)
    assert [found[f"gpu:?/{n}", "gpu.ecc_uncorrectable"] for n in range(3)] == [0, 2, 0]
    assert found["gpu:?/2", "gpu.throttle_reasons"] == ("sw_power_cap", "hw_thermal_slowdown")
    assert found["gpu:?/2", "gpu.xgmi_error"] == "multiple_errors"
    (fact,) = (f for f in read_dump("x", text.encode()).facts if f.name == "gpu.ecc_uncorrectable" and f.value == 2)
    assert (
        text.splitlines()[fact.source.line - 1].strip() == fact.source.text.strip() == '"total_uncorrectable_count": 2'
    )


def test_what_does_not_change() -> None:
    found = facts(static())
    assert found["gpu:?/1", "gpu.name"] == "AMD Instinct MI300X"
    assert found["gpu:?/1", "gpu.bus_id"] == "0000:15:00.0"
    assert found["gpu:?/1", "gpu.pcie_width_max"] == 16
    assert found["gpu:?/1", "gpu.power_limit"] == 750
    assert found["node:?", "node.amdgpu_version"] == "6.10.5"


def test_neighbours_by_xgmi_and_closed_peer_access() -> None:
    found = facts(topology(4))
    assert [found[f"gpu:?/{n}", "gpu.xgmi_peers"] for n in range(4)] == [3, 3, 3, 3]
    assert found["node:?", "node.p2p_unsupported_pairs"] == 0
    assert facts(topology(2, "PCIE", "DISABLED"))["node:?", "node.p2p_unsupported_pairs"] == 1


def test_the_same_as_text() -> None:
    found = facts("$ amd-smi metric\n" + TEXT)
    assert (found["gpu:?/0", "gpu.utilization"], found["gpu:?/0", "gpu.pcie_width"]) == (0.97, 8)
    assert (found["gpu:?/0", "gpu.ecc_correctable"], found["gpu:?/0", "gpu.ecc_uncorrectable"]) == (4, 1)
    assert found["gpu:?/0", "gpu.memory_used"] == 190000 << 20
    assert found["gpu:?/0", "gpu.sm_clock_max"] == 2100e6
    assert ("gpu:?/1", "gpu.ecc_uncorrectable") not in found and ("gpu:?/0", "gpu.xgmi_error") not in found


@pytest.mark.parametrize(
    "text",
    ['{"gpu": 0, "epoch": 3}', "GPU: 0\nloss: 3.1\n", '[{"gpu": 0, "tokens": [1, 2]}]', "GPU: 4x A100\n"],
)
def test_other_programs_that_count_gpus(text: str) -> None:
    assert "amd-smi" not in kinds(text)


def test_a_damaged_dump_costs_facts_only() -> None:
    for text in (metric(), static(), topology(), TEXT):
        survives(text)
