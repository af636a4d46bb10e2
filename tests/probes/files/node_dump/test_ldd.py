"""Libraries that are loaded."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

LDD = """\
	linux-vdso.so.1 (0x00007ffd)
	libnccl.so.2 => /usr/lib/x86_64-linux-gnu/libnccl.so.2 (0x00007f11)
	libfabric.so.1 => not found
	libibverbs.so.1 => /lib/x86_64-linux-gnu/libibverbs.so.1 (0x00007f12)
"""
MAPS = """\
7f0000000000-7f0000100000 r-xp 00000000 08:01 123 /opt/v/torch/lib/../../nvidia/nccl/lib/libnccl.so.2
7f0000200000-7f0000300000 r-xp 00000000 08:01 124 /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so
7f0000400000-7f0000500000 r-xp 00000000 08:01 125 /usr/lib/x86_64-linux-gnu/libnccl.so.2.18.5
"""


def test_ldd() -> None:
    found = node(LDD)
    assert found["node.nccl_libraries"] == ("/usr/lib/x86_64-linux-gnu/libnccl.so.2",)
    assert found["node.libraries_missing"] == ("libfabric.so.1",)
    assert found["node.ibverbs_libraries"] == ("/lib/x86_64-linux-gnu/libibverbs.so.1",)


def test_two_copies_in_one_process() -> None:
    found = node(MAPS)
    assert found["node.nccl_libraries"] == (
        "/opt/v/nvidia/nccl/lib/libnccl.so.2",
        "/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.5",
    )
    assert found["node.net_plugins"] == ("/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so",)


def test_nccls_own_message_is_none() -> None:
    assert kinds("NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n") == ()


def test_damage() -> None:
    survives(LDD)
    survives(MAPS)
