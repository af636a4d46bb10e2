"""The report of NCCL_RUN_DIAGNOSTICS."""

from __future__ import annotations

import pytest

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

FIELDS = "srcRank=1 srcCudaDev=1 srcNvmlDev=5 dstRank=2 dstCudaDev=2 dstNvmlDev=6 path=PHB handle=LEGACY_CUDA_IPC"
REPORT = f"""\
n0:41 NCCL DIAG === NCCL Diagnostics ===
n0:41 NCCL DIAG [INFO] p2p: only 54/56 GPU-to-GPU peer accesses passed verification
n0:41 NCCL DIAG [INFO] p2p: write mismatch {FIELDS} expected=0x1 got=0x2 verify=0x3; inspect the IOMMU
n0:41 NCCL DIAG [INFO] p2p: peer-memory import failed {FIELDS} reason=import; check CUDA IPC support
n0:41 NCCL DIAG [INFO] net bw: 265.1/391.5/598.0 Gbit/s min/median/max cross-nic bw (across 8 ranks) in comm 0x7a3f
n0:41 NCCL DIAG [INFO] net bw: cross-nic rank 3 (n1): 195.75 Gbit/s, >30% off median 391.5 Gbit/s in comm 0x7a3f
n0:41 NCCL DIAG [INFO] net bw: cross-nic rank 5 (n1): 598.0 Gbit/s, >30% off median 391.5 Gbit/s in comm 0x7a3f
n0:41 NCCL DIAG NCCL diagnostics completed in 245.3 ms across 8 ranks
"""
WELL = """\
n0:41 NCCL DIAG === NCCL Diagnostics ===
n0:41 NCCL DIAG [OK]   p2p: verified P2P access in both directions between every GPU pair (56 peer accesses)
n0:41 NCCL DIAG NCCL diagnostics completed in 245.3 ms across 8 ranks
"""


def test_wrong_copies_and_those_that_could_not_be_set_up_are_told_apart() -> None:
    found = facts(REPORT)
    assert found["node:n0", "node.p2p_copy_wrong"] == ("5->6",)
    assert found["node:n0", "node.p2p_copy_failed"] == ("5->6 peer-memory import failed, path PHB",)


def test_a_rank_below_the_median_is_slow_and_one_above_is_not() -> None:
    found = node(REPORT)
    assert found["nccl_diag.net_slow"] == ("rank 3 on n1, cross-nic: 195.75 of 391.5 Gbit/s",)
    assert found["nccl_diag.net_slow_share"] == pytest.approx(0.5)
    assert found["nccl_diag.net_rate"] == pytest.approx(391.5e9 / 8)


def test_a_report_without_findings() -> None:
    assert node(WELL) == {"nccl_diag.ranks": 8}


def test_a_mention_is_none() -> None:
    assert kinds("with diagnostics on, rank 0 prints NCCL DIAGNOSTICS\n") == ()


def test_damage() -> None:
    survives(REPORT)
