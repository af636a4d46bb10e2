"""nccl-tests."""

from __future__ import annotations

import pytest

from tests.probes.files.node_dump.dumps import kinds, node, survives

TABLE = """\
# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 validate: 1 graph: 0
#  Rank  0 Group  0 Pid  41 on  n01 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  8 Group  0 Pid  42 on  n02 device  0 [0x1b] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    30.12    0.00    0.00      0    29.00    0.00    0.00      0
  8589934592    2147483648     float     sum      -1    33530  256.19  480.35      0    33500  256.40  480.75      3
# Out of bounds values : 3 FAILED
# Avg bus bandwidth    : 240.275
"""
GATHER = """\
# all_gather_perf -b 1G -e 1G -g 8
  1073741824      33554432     float    none      -1   2700.1  397.67  347.96    N/A   2701.0  397.53  347.84    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 347.9
"""


def test_rows_average_and_wrong_values() -> None:
    found = node(TABLE)
    assert found["node.nccl_tests_busbw"] == pytest.approx(240.275e9)
    assert found["node.nccl_tests_busbw_largest"] == pytest.approx(480.35e9)
    assert found["node.nccl_tests_errors"] == 3
    assert found["node.nccl_tests_hosts"] == ("n01", "n02")


def test_an_operation_without_reduction() -> None:
    found = node(GATHER)
    assert found["node.nccl_tests_op"] == "all_gather"
    assert found["node.nccl_tests_busbw_max"] == pytest.approx(347.96e9)
    assert found["node.nccl_tests_errors"] == 0


def test_a_test_that_hangs() -> None:
    assert node("# all_reduce_perf -b 8 -e 1G -f 2 -g 2\nn01:1:1 [0] NCCL INFO Init COMPLETE\n(hangs here)\n") == {
        "node.nccl_tests_op": "all_reduce",
        "node.nccl_tests_hung": True,
    }


def test_notes() -> None:
    assert node("before: busbw 181.2 GB/s\nafter: busbw 10.4 GB/s\n")["node.busbw_notes"] == (181.2e9, 10.4e9)


def test_a_mention_is_none() -> None:
    assert kinds("expected busbw is high\nall_reduce_perf is slow here\n") == ()


def test_damage() -> None:
    survives(TABLE)
    survives(GATHER)
