from __future__ import annotations

from pathlib import Path

from probes.node.interface.host import this_host
from probes.node.limits import SPEC, probe
from tests.probes.node.hosts import gaps, host_of, known

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max open files            1024                 1048576              files
Max locked memory         65536                65536                bytes
Max processes             unlimited            unlimited            processes
"""
BASE = {"/dev/shm/x": "", "/tmp/x": "", "/proc/self/limits": LIMITS, "/proc/self/status": "Cpus_allowed_list:\t0-3,8\n"}


def test_limits_of_the_process_and_of_its_cgroup(tmp_path: Path) -> None:
    cgroup = {
        "/sys/fs/cgroup/memory.max": "68719476736\n",
        "/sys/fs/cgroup/memory.events": "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n",
    }
    found = known(probe(host_of(tmp_path, BASE | cgroup)))
    assert found["node.memlock", "node:n1"] == 65536
    assert found["node.open_files", "node:n1"] == 1024
    assert found["node.max_processes", "node:n1"] == 2**64 - 1
    assert found["node.cgroup_memory_limit", "node:n1"] == 64 << 30
    assert found["node.cgroup_oom_kills", "node:n1"] == 2
    assert found["node.cpus_allowed", "node:n1"] == 5


def test_no_limit_of_the_cgroup_is_no_fact(tmp_path: Path) -> None:
    for text in ("max\n", "9223372036854771712\n"):
        cgroup = {"/sys/fs/cgroup/memory.max": text}
        assert ("node.cgroup_memory_limit", "node:n1") not in known(probe(host_of(tmp_path, BASE | cgroup)))


def test_what_is_not_there_says_why(tmp_path: Path) -> None:
    given = list(probe(host_of(tmp_path, {})))
    assert gaps(given)["node.shm_total"] == "No such file or directory"
    assert gaps(given)["node.memlock"] == "No such file or directory"


def test_this_very_machine() -> None:
    found = {name for name, _ in known(probe(this_host()))}
    assert {"node.shm_total", "node.memlock", "node.open_files", "node.cpus_allowed"} <= found <= set(SPEC.provides) | {
        "node.root_total", "node.root_used", "node.tmp_total", "node.tmp_used"
    }  # fmt: skip
