"""GPUs by name."""

from __future__ import annotations

import pytest

from doctor.planner.errors import PlanError
from doctor.planner.hardware import gpu, gpus, node_of

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("H100", "H100-SXM5-80GB"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"),
        ("nvidia h100 pcie", "H100-PCIe"),
        ("A100", "A100-SXM4-80GB"),
        ("A100-80G", "A100-SXM4-80GB"),
        ("A100-SXM-80GB", "A100-SXM4-80GB"),
        ("A100-SXM-40GB", "A100-SXM4-40GB"),
        ("NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"),
        ("V100", "V100-SXM2-32GB"),
        ("B200-SXM-180GB", "B200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("4090", "RTX 4090"),
    ],
)
def test_a_gpu_has_many_spellings(name: str, row: str) -> None:
    assert gpu(name).name == row


def test_an_unknown_gpu_is_answered_with_a_close_one() -> None:
    with pytest.raises(PlanError, match=r"gpu is 'A100-SXN4-80GB', .*did you mean A100-SXM4-80GB\?"):
        gpu("A100-SXN4-80GB")


def test_no_name_is_no_gpu() -> None:
    with pytest.raises(PlanError, match="gpu is ''"):
        gpu("")


@pytest.mark.parametrize("name", sorted(gpus()))
def test_figures_are_of_the_right_order(name: str) -> None:
    """A wrong unit is wrong by a factor of 8, 1000 or more."""
    entry = gpus()[name]
    assert 14 * GIB < entry.memory < 300 * GIB
    assert entry.source
    for figure, low, high in [
        ("peak_bf16", 50e12, 3e15),
        ("peak_fp8", 200e12, 6e15),
        ("memory_bandwidth", 200e9, 9e12),
        ("pcie", 10e9, 130e9),
    ]:
        value = getattr(entry, figure)
        assert value is None or low < value < high
    assert not entry.nvlink or 100e9 < entry.nvlink < 1e12


def test_what_is_not_known_says_so_when_it_is_asked_for() -> None:
    with pytest.raises(PlanError, match="peak_bf16 of A800 is not known"):
        gpu("A800").known("peak_bf16")


def test_an_h800_computes_as_an_h100_and_talks_more_slowly() -> None:
    slower, whole = gpu("H800"), gpu("H100")
    assert (slower.peak_bf16, slower.memory_bandwidth) == (whole.peak_bf16, whole.memory_bandwidth)
    assert slower.nvlink and whole.nvlink and slower.nvlink < whole.nvlink
    assert not slower.verified


def test_a_rack_is_one_domain_and_a_small_job_has_a_small_one() -> None:
    assert node_of(gpu("GB200"), 144).nvlink_domain == 72
    assert node_of(gpu("H100"), 4).nvlink_domain == 4
    assert node_of(gpu("4090"), 8).nvlink_domain == 1


def test_several_nodes_need_a_network() -> None:
    with pytest.raises(PlanError, match="network of a node of RTX 4090 is not known"):
        node_of(gpu("4090"), 16)
    assert node_of(gpu("4090"), 16, nic_bandwidth=12.5e9).nic_bandwidth == 12.5e9
