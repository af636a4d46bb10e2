"""Copies between GPUs."""

from __future__ import annotations

import pytest

from tests.probes.files.node_dump.dumps import kinds, node, survives

SCRIPT = """\
cuda:0 -> cpu    equal=True
cuda:0 -> cuda:1 equal=False n_bad=4095
cuda:2 -> cuda:3 equal=True
cuda:0 -> cpu -> cuda:1 equal=True
"""
MATRIX = """\
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1500.10  10.10
     1  10.20 1500.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 1500.10  25.50
     1  24.20 1500.00
"""


def test_a_script_that_compares() -> None:
    found = node(SCRIPT)
    assert found["node.p2p_copy_wrong"] == ("0->1",)
    assert found["node.p2p_copy_ok"] == ("2->3",)


def test_other_words_for_it() -> None:
    assert node("GPU0 -> GPU1: FAILED\nGPU1 -> GPU0: PASSED\n")["node.p2p_copy_wrong"] == ("0->1",)
    assert node("copy from device 0 to device 2: MISMATCH\n")["node.p2p_copy_wrong"] == ("0->2",)


def test_the_samples_of_cuda() -> None:
    assert node(MATRIX)["node.p2p_bandwidth"] == pytest.approx(24.2e9)
    assert node("Verification error @ element 1: val = nan, ref = 4.0\n")["node.p2p_copy_wrong"] == ("?->?",)
    assert node("> Peer access from A (GPU0) -> B (GPU1) : No\n> Peer access from B (GPU1) -> A (GPU0) : No\n") == {
        "node.p2p_status": "NS",
        "node.p2p_unsupported_pairs": 1,
    }


def test_a_channel_of_nccl_is_none() -> None:
    assert kinds("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\nmoving cuda:0 to cuda:1\n") == ()


def test_damage() -> None:
    survives(SCRIPT)
    survives(MATRIX)
