"""Resource limits."""

from __future__ import annotations

from probes.files.node_dump.values import UNLIMITED
from tests.probes.files.node_dump.dumps import kinds, node, survives

ALL = """\
real-time non-blocking time  (microseconds, -R) unlimited
core file size              (blocks, -c) 0
max locked memory           (kbytes, -l) 64
open files                          (-n) 1024
stack size                  (kbytes, -s) 8192
max user processes                  (-u) unlimited
"""
PROC = """\
Limit                     Soft Limit           Hard Limit           Units
Max locked memory         65536                65536                bytes
Max open files            1048576              1048576              files
"""


def test_ulimit_counts_memory_in_kibibytes() -> None:
    found = node(ALL)
    assert found["node.memlock"] == 64 << 10
    assert found["node.open_files"] == 1024
    assert found["node.max_processes"] == UNLIMITED
    assert found["node.core_size"] == 0


def test_proc_counts_in_bytes() -> None:
    assert node(PROC) == {"node.memlock": 65536, "node.open_files": 1048576}


def test_single_limits() -> None:
    assert node("$ ulimit -l\nunlimited\n") == {"node.memlock": UNLIMITED}
    assert node("ulimit -n: 1024\n") == {"node.open_files": 1024}
    assert node("node has ulimit -l = 64\n") == {"node.memlock": 64 << 10}


def test_advice_and_commands_that_set_are_no_dump() -> None:
    assert kinds("Please check ulimit -l on your nodes\n") == ()
    assert kinds("open files: 33 of 1024 in the data set\n") == ()


def test_damage() -> None:
    survives(ALL)
    survives(PROC)
