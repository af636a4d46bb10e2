"""NUMA nodes and processors."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

NUMA = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 515000 MB
node 1 cpus:
node 1 size: 516000 MB
"""
LSCPU = """\
Architecture:        x86_64
CPU(s):              96
Model name:          AMD EPYC 7V13 64-Core Processor
NUMA node(s):        4
Hypervisor vendor:   Microsoft
NUMA node0 CPU(s):   0-23
"""


def test_a_node_without_processors() -> None:
    found = node(NUMA)
    assert found["node.numa_nodes"] == 2
    assert found["node.numa_nodes_without_cpus"] == (1,)
    assert node(NUMA.replace("node 1 cpus:", "node 1 cpus: 4 5"))["node.numa_nodes_without_cpus"] == ()


def test_lscpu() -> None:
    found = node(LSCPU)
    assert found["node.cpus"] == 96
    assert found["node.hypervisor"] == "Microsoft"
    assert found["node.cpu_model"] == "AMD EPYC 7V13 64-Core Processor"


def test_nproc() -> None:
    assert node("$ nproc\n16\n") == {"node.cpus_allowed": 16}
    assert node("nproc: 16\n") == {"node.cpus_allowed": 16}


def test_other_nodes_are_none() -> None:
    assert kinds("available: 2 nodes\nnode 0 cpus: many\nCPU(s): busy\n") == ()


def test_damage() -> None:
    survives(NUMA)
    survives(LSCPU)
