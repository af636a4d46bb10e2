"""Lines that tell how many parameters a model has, and those that tell another size."""

from __future__ import annotations

import re

import pytest

from doctor.rulebase import read_rulebase

PATTERNS = read_rulebase().base.events["model.parameters"].patterns


def told(line: str) -> str | None:
    found = next((match for pattern in PATTERNS if (match := re.search(pattern, line))), None)
    return found["all"] if found else None


@pytest.mark.parametrize(
    "line",
    [
        "[titan] Model llama3 debugmodel size: 6,139,136 total parameters",
        "Total number of parameters: 6,139,136",
        "  total parameters = 6,139,136",
    ],
)
def test_the_size_of_a_model_is_its_number_of_parameters(line: str) -> None:
    assert told(line) == "6,139,136"


@pytest.mark.parametrize(
    "line",
    [
        "misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x1 (size 9637888)",
        "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401",
        "Reducer buckets have been rebuilt, bucket size: 26214400",
    ],
)
def test_the_size_of_a_buffer_is_no_model(line: str) -> None:
    assert told(line) is None
