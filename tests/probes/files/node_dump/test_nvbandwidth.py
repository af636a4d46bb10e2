"""nvbandwidth, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

RATES = [[0.0, 276.1, 138.0, 276.4], [276.2, 0.0, 138.2, 276.3], [138.1, 138.3, 0.0, 138.4], [276.0, 276.5, 138.2, 0.0]]


def table(rates: list[list[float]]) -> str:
    head = "  " + "".join(f"{at:>10}" for at in range(len(rates[0])))
    return "\n".join([head, *(f"{at:>2}" + "".join(f"{x:>10.2f}" for x in row) for at, row in enumerate(rates))])


TEXT = f"""\
nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 12080
Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
{table([[55.2, 55.3, 27.4, 55.1]])}

SUM host_to_device_memcpy_ce 193.00

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
{table(RATES)}

SUM device_to_device_memcpy_write_ce 2484.20

Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)
{table([[0.0, 1.0], [1.0, 0.0]])}

"""
JSON = json.dumps(
    {
        "nvbandwidth": {
            "CUDA Runtime Version": 12080,
            "version": "v0.8",
            "testcases": [
                {
                    "bandwidth_description": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
                    "bandwidth_matrix": [[f"{x}" if x else "N/A" for x in row] for row in RATES],
                    "name": "device_to_device_memcpy_write_ce",
                    "status": "Passed",
                    "sum": 2484.2,
                },
                {"name": "host_to_device_memcpy_sm", "status": "Error", "error": "Invalid value when checking"},
            ],
        }
    },
    indent=1,
)


@pytest.mark.parametrize("text", [TEXT, JSON])
def test_the_slow_gpu_is_told_by_its_share_of_the_usual_rate(text: str) -> None:
    found = facts(text)
    assert found["node:?", "node.p2p_bandwidth"] == pytest.approx(138.0e9)
    assert found["gpu:?/2", "gpu.copy_share"] == pytest.approx(0.5, abs=0.02)
    assert found["gpu:?/0", "gpu.copy_share"] == pytest.approx(1.0, abs=0.02)


def test_copies_with_the_host_are_compared_too() -> None:
    found = facts(TEXT)
    assert found["node:?", "node.host_copy_bandwidth"] == pytest.approx(27.4e9)
    assert found["gpu:?/2", "gpu.host_copy_share"] == pytest.approx(0.5, abs=0.01)


def test_a_test_case_that_fails_is_named() -> None:
    assert node(JSON)["node.nvbandwidth_failed"] == ("host_to_device_memcpy_sm",)


def test_two_gpus_say_nothing_of_what_is_usual() -> None:
    text = TEXT.replace(table(RATES), table([[0.0, 50.0], [50.0, 0.0]]))
    assert ("gpu:?/0", "gpu.copy_share") not in facts(text)


def test_a_mention_is_none() -> None:
    assert kinds("we ran nvbandwidth and memcpy CE was fine\n") == ()


def test_damage() -> None:
    survives(TEXT)
    survives(JSON)
