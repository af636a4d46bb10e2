"""Segments of NCCL in /dev/shm."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

LISTING = """\
$ ls -la /dev/shm
total 1000
-rw------- 1 root root 33554432 Jan  5 10:00 nccl-8fGh2k
-rw------- 1 root root 33554432 Jan  5 10:00 nccl-9aBc3d
"""


def test_segments_are_counted() -> None:
    assert node(LISTING)["node.shm_nccl_files"] == 2


def test_an_error_that_names_one_is_none() -> None:
    assert kinds("Error: failed to extend /dev/shm/nccl-8fGh2k to 33030144 bytes\n") == ()


def test_damage() -> None:
    survives(LISTING)
