"""What users write about their setup in their own words."""

from __future__ import annotations

import pytest

from tests.probes.files.job_config.reading import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4 nodes x 8 A100-80GB, Foo-72B", {"nnodes": 4, "nproc_per_node": 8, "gpu_model": "A100-80GB", "model": "Foo-72B"}),
        ("2 nodes, 8 GPUs each", {"nnodes": 2, "nproc_per_node": 8}),
        ("runs on 16 nodes with 8x H100 SXM", {"nnodes": 16, "nproc_per_node": 8, "gpu_model": "H100 SXM"}),
        ("world size 64, bf16", {"world_size": 64}),
        ("torch 2.7, enable_cpu_affinity: True", {"cpu_affinity": True}),
    ],
)  # fmt: skip
def test_sizes(text: str, expected: dict[str, object]) -> None:
    assert facts(text + "\n", "notes.txt") == expected


@pytest.mark.parametrize("text", ["hello world 2026", "2 nodes are slower than 1", "busbw 181.2 GB/s", "13G per card"])
def test_other_numbers_are_not_sizes(text: str) -> None:
    assert "nnodes" not in facts(text + "\n", "notes.txt") and "nproc_per_node" not in facts(text + "\n", "notes.txt")


def test_a_hostfile() -> None:
    assert facts("n1 slots=8\nn2 slots=8\n", "hostfile") == {"nnodes": 2, "nproc_per_node": 8}
    assert facts("n1 slots=8\nn2 slots=4\n", "hostfile") == {"nnodes": 2}
