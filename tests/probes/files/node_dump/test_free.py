"""Memory of the host."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

FREE_H = """\
               total        used        free      shared  buff/cache   available
Mem:           1.0Ti       980Gi       2.1Gi       1.0Gi        25Gi        18Gi
Swap:             0B          0B          0B
"""
FREE_G = """\
$ free -g
       total  used  free  shared  buff/cache  available
Mem:     503   100     3       1         400        400
"""
MEMINFO = "MemTotal:       528280588 kB\nMemFree:         1200000 kB\nMemAvailable:    9000000 kB\n"


def test_human_readable() -> None:
    found = node(FREE_H)
    assert found["node.memory_total"] == 1 << 40
    assert found["node.memory_available"] == 18 << 30
    assert found["node.swap_total"] == 0


def test_the_unit_of_the_command() -> None:
    assert node(FREE_G)["node.memory_total"] == 503 << 30
    assert node(FREE_G.replace("free -g", "free"))["node.memory_total"] == 503 << 10


def test_meminfo() -> None:
    assert node(MEMINFO)["node.memory_available"] == 9000000 << 10


def test_cgroups() -> None:
    assert node("$ cat /sys/fs/cgroup/memory.max\n68719476736\n") == {"node.cgroup_memory_limit": 64 << 30}
    assert node("$ cat /sys/fs/cgroup/memory.max\nmax\n") == {}
    assert node("$ cat /sys/fs/cgroup/memory.events\noom 3\noom_kill 2\n")["node.cgroup_oom_kills"] == 2


def test_a_log_with_memory_is_none() -> None:
    assert kinds("[rank0] Mem: 10GB of 20GB\nMemTotal unknown\n") == ()


def test_damage() -> None:
    survives(FREE_H)
    survives(FREE_G)
    survives(MEMINFO)
