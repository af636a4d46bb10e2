"""Numbers of traces as they stand in a report."""

from __future__ import annotations

import pytest

from probes.files.trace.words import told


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("trace.exposed_memory_share", 0.970145, "rank 0: trace.exposed_memory_share = 97.0 %"),
        ("trace.overlap_fraction", 0.0, "rank 0: trace.overlap_fraction = 0.0 %"),
        ("trace.launch_lag", 1.2253e-05, "rank 0: trace.launch_lag = 12.25 us"),
        ("trace.step_time", 1.5, "rank 0: trace.step_time = 1.5 s"),
        ("trace.step_time", 0.0, "rank 0: trace.step_time = 0 s"),
        ("trace.clock_offset", -0.0025, "rank 0: trace.clock_offset = -2.5 ms"),
        ("trace.busy_us", 2500.0, "rank 0: trace.busy_us = 2.5 ms"),
        ("trace.all_reduce_bus_rate", 45.12e9, "rank 0: trace.all_reduce_bus_rate = 45.1 GB/s"),
        ("trace.kernels", 1234567, "rank 0: trace.kernels = 1234567"),
        ("trace.top_kernel", "gemm", ""),
        ("trace.flag", True, ""),
    ],
)
def test_a_number_has_the_unit_of_its_name(name: str, value: object, text: str) -> None:
    assert told(name, value, "rank:0") == text  # type: ignore[arg-type]


def test_a_device_is_told_by_host_and_number() -> None:
    assert told("trace.kernels", 3, "gpu:n1/0") == "gpu n1/0: trace.kernels = 3"
