"""NVLinks."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, survives

STATUS = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)
     Link 0: 25 GB/s
     Link 1: 25 GB/s
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1)
     Link 0: 25 GB/s
     Link 1: <inactive>
"""
ERRORS = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)
     Link 0: Replay Errors: 0
     Link 0: Recovery Errors: 0
     Link 0: CRC Errors: 3
     Link 1: CRC Errors: 4
"""


def test_links_up_and_down() -> None:
    found = facts(STATUS)
    assert (found["gpu:?/0", "gpu.nvlinks_active"], found["gpu:?/0", "gpu.nvlinks_inactive"]) == (2, 0)
    assert found["gpu:?/1", "gpu.nvlinks_inactive"] == 1


def test_errors_of_all_links() -> None:
    found = facts(ERRORS)
    assert found["gpu:?/0", "gpu.nvlink_crc_errors"] == 7
    assert found["gpu:?/0", "gpu.nvlink_replay_errors"] == 0


def test_links_of_a_page_are_none() -> None:
    assert kinds("Link 0: see the manual\nLink 1: errors\n") == ()


def test_damage() -> None:
    survives(STATUS)
    survives(ERRORS)
