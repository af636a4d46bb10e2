"""Matrices of nvidia-smi topo."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

MIXED = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV4\tPXB\tSYS\tPIX\tSYS\t0-31\t0\t\tN/A
GPU1\tNV4\t X \tPXB\tSYS\tPIX\tSYS\t0-31\t0\t\tN/A
GPU2\tPXB\tPXB\t X \tNV4\tSYS\tNODE\t32-63\t1\t\tN/A
GPU3\tSYS\tSYS\tNV4\t X \tSYS\tPHB\t32-63\t1\t\tN/A
NIC0\tPIX\tPIX\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tNODE\tPHB\tSYS\t X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""

P2P = """\
 \tGPU0\tGPU1
 GPU0\tX\tCNS
 GPU1\tCNS\tX

Legend:
  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
"""


def test_worst_and_best_link() -> None:
    found = node(MIXED)
    assert found["node.topology"] == "SYS"
    assert found["node.topology_best"] == "NV4"
    assert found["node.nvlink_count"] == 0
    assert found["node.nvlink_pairs"] == 2
    assert found["node.gpu_count"] == 4


def test_the_gpu_that_is_farthest_from_its_nic() -> None:
    found = node(MIXED)
    assert found["node.nic_topology"] == "NODE"
    assert found["node.ib_devices"] == ("mlx5_0", "mlx5_1")


def test_all_gpus_on_nvswitch() -> None:
    found = node("        GPU0    GPU1    CPU Affinity\nGPU0     X      NV18    0-47\nGPU1    NV18     X      48-95\n")
    assert (found["node.topology"], found["node.nvlink_count"]) == ("NV18", 18)


def test_peer_access() -> None:
    found = node(P2P)
    assert found["node.p2p_status"] == "CNS"
    assert found["node.p2p_unsupported_pairs"] == 1
    assert "node.topology" not in found


def test_a_note_of_single_links() -> None:
    found = node("GPU0 <-> GPU1: NV4\nGPU0 <-> GPU2: SYS\n")
    assert (found["node.topology"], found["node.topology_best"]) == ("SYS", "NV4")


def test_a_row_cut_short_still_counts() -> None:
    assert node("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPHB\nGPU1\tPHB")["node.topology"] == "PHB"


def test_a_table_of_times_per_gpu_is_none() -> None:
    assert kinds("        GPU0  GPU1\nstep 1  10    11\nstep 2  10    12\n") == ()


def test_damage() -> None:
    survives(MIXED)
    survives(P2P)
