"""The GPU probe and `pdoctor run` on nodes with faults, through the real nvidia-ml-py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.probes.node.gpus import causes_of, facts_of, pdoctor, table

EVERY = range(8)


def test_eight_healthy_cards_are_healthy(tmp_path: Path) -> None:
    values = table(tmp_path)
    found = facts_of(values)
    assert found["node.gpu_count", "node"] == 8
    assert found["node.driver_version", "node"] == "575.57.08"
    assert found["node.cuda_driver", "node"] == "12.9"
    assert found["gpu.name", "gpu:7"] == "NVIDIA H100 80GB HBM3"
    assert found["gpu.bus_id", "gpu:1"] == "00000000:29:00.0"
    assert found["gpu.nvlinks_active", "gpu:0"] == 18
    assert found["gpu.fabric_state", "gpu:0"] == "Completed"
    assert found["gpu.throttle_reasons", "gpu:0"] == ["idle"]
    assert causes_of(values) == (0, {})


def test_what_the_driver_reserves_is_not_counted_as_used(tmp_path: Path) -> None:
    found = facts_of(table(tmp_path, gpus={0: {"memory.used": "1048576"}}))
    assert found["gpu.memory_used", "gpu:0"] == 1 << 20
    assert found["gpu.memory_total", "gpu:0"] == 85520809984


@pytest.mark.parametrize(
    ("gpus", "cause", "place"),
    [
        ({2: {"lost": "1"}}, "gpu-fell-off-bus", "2"),
        ({1: {"handle": "!15"}}, "gpu-fell-off-bus", "1"),
        ({5: {"throttle": "0x48", "temperature": "91", "use": "100"}}, "gpu-thermal-power-throttle", "5"),
        ({3: {"link.7": "0"}}, "nvlink-hardware", "3"),
        ({6: {"ecc.1.0": "2", "remap": "1", "remap.pending": "1"}}, "gpu-ecc-uncorrectable", "6"),
        ({4: {"pcie.width": "8"}}, "gpu-pcie-degraded", "4"),
    ],
)
def test_a_card_with_a_fault_is_named(
    gpus: Mapping[int, Mapping[str, str]], cause: str, place: str, tmp_path: Path
) -> None:
    status, found = causes_of(table(tmp_path, gpus=gpus))
    assert status == 1
    assert found[cause]["role"] == "root"
    entities = found[cause]["entities"]
    assert isinstance(entities, list) and [entity.rpartition("/")[2] for entity in entities] == [place]


@pytest.mark.parametrize(
    "gpus",
    [
        {5: {"throttle": "4", "use": "100", "power": "699000", "clock": "1600"}},  # a power cap at full load is usual
        {5: {"pcie.gen": "1"}},  # an idle link slows down by design
        {5: {"link.errors.0.3": "2"}},
        {gpu: {"name": "NVIDIA H100 PCIe", "link": "0", "fabric": "0"} for gpu in EVERY},  # cards without bridges
    ],
)
def test_what_looks_like_a_fault_and_is_none(gpus: Mapping[int, Mapping[str, str]], tmp_path: Path) -> None:
    status, found = causes_of(table(tmp_path, gpus=gpus))
    assert status == 0, found


def test_a_lost_card_leaves_the_facts_of_the_others(tmp_path: Path) -> None:
    found = facts_of(table(tmp_path, gpus={2: {"lost": "1"}}))
    assert found["gpu.unreadable", "gpu:2"] == "GPU is lost"
    assert ("gpu.name", "gpu:2") not in found and ("gpu.name", "gpu:3") in found


def test_mig_instances_are_counted(tmp_path: Path) -> None:
    found = facts_of(table(tmp_path, gpus={0: {"mig": "1", "mig.made": "3"}}))
    assert (found["gpu.mig", "gpu:0"], found["gpu.mig_instances", "gpu:0"]) == (True, 3)
    assert found["gpu.mig", "gpu:1"] is False


def test_a_fabric_that_is_not_ready_is_the_fabric_managers(tmp_path: Path) -> None:
    status, found = causes_of(table(tmp_path, gpus={gpu: {"fabric": "2"} for gpu in EVERY}))
    assert status == 1 and found["fabric-manager-down"]["role"] == "root"


def test_a_library_of_another_version_than_the_driver(tmp_path: Path) -> None:
    status, found = causes_of(table(tmp_path, host={"init": "!18"}))
    assert status == 1 and found["driver-library-mismatch"]["role"] == "root"


def test_a_driver_that_is_not_loaded(tmp_path: Path) -> None:
    status, found = causes_of(table(tmp_path, host={"init": "!9"}))
    assert status == 1 and "gpu-not-visible" in found


def test_what_one_call_may_not_read_is_a_gap_and_no_fault(tmp_path: Path) -> None:
    status, shown = pdoctor("run", "--json", values=table(tmp_path, gpus={1: {"ecc": "!4"}}))
    gaps = json.loads(shown)["not_checked"]
    assert status == 0
    assert any("gpu.ecc of" in gap["what"] and "Insufficient Permissions" in gap["why"] for gap in gaps), gaps


def test_an_old_card_answers_what_it_knows(tmp_path: Path) -> None:
    unknown = ("ecc", "remap", "links", "fabric", "mig", "memory.reserved", "throttle", "state", "field.230")
    found = facts_of(table(tmp_path, gpus={0: dict.fromkeys(unknown, "!3")}))
    assert ("gpu.ecc_enabled", "gpu:0") not in found and ("gpu.memory_total", "gpu:0") in found


def test_no_driver_is_said_and_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("this machine has an NVIDIA driver")
    assert run(["run", "--no-input", "--json"]) in (0, 1)  # other jobs of this machine may hang, as tests have them do
    told = json.loads(capsys.readouterr().out)
    assert any("no NVIDIA driver here" in gap["why"] for gap in told["not_checked"])
    assert not [one["rule"] for one in told["findings"] if not one["rule"].startswith(("HNG", "LCH"))]


def test_a_card_that_is_cut_into_slices_is_a_note_and_no_alarm(tmp_path: Path) -> None:
    status, found = causes_of(table(tmp_path, gpus={0: {"mig": "1", "mig.made": "3"}}))
    assert status == 0 and {finding["severity"] for finding in found.values()} <= {"info", "risk"}
