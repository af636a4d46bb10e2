"""Who uses the processors."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

TOP = """\
top - 11:20:31 up 2 days,  3:04,  1 user,  load average: 9.81, 9.66, 9.40
%Cpu0  : 99.7 us,  0.3 sy,  0.0 ni,  0.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st
%Cpu1  :  0.7 us,  0.3 sy,  0.0 ni, 99.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st
    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
   4410 root      20   0   60.1g   8.0g 500000 R  12.5   1.2   3:25.10 python3 train.py
   4471 root      20   0   60.1g   2.0g 500000 D  99.0   1.2   3:25.10 python3
"""
AFFINITY = "pid 4410's current affinity list: 0\npid 4411's current affinity list: 0-3\n"


def test_busy_processors_and_processes() -> None:
    found = node(TOP)
    assert found["node.cpus_busy"] == 1
    assert found["node.cpus_seen"] == 2
    assert found["node.load"] == 9.81
    assert found["node.process_cpu"] == ("4471 python3 99%", "4410 python3 train.py 12.5%")
    assert found["node.processes_in_disk_wait"] == ("4471",)
    assert found["node.process_memory_max"] == 8 << 30


def test_the_narrowest_affinity_counts() -> None:
    found = node(AFFINITY)
    assert found["node.cpus_allowed"] == 1
    assert found["node.process_affinity"] == ("4410=0", "4411=0-3")
    assert node("pid 7's current affinity mask: ff\n")["node.cpus_allowed"] == 8
    assert node("Cpus_allowed_list:\t0-15\n")["node.cpus_allowed"] == 16


def test_python_counts_its_processors() -> None:
    assert node("len(os.sched_getaffinity(0)) = 1\n")["node.cpus_allowed"] == 1


def test_a_cpuset() -> None:
    assert node("cpuset.cpus.effective: 0-47\n") == {"node.cpuset": "0-47", "node.cpuset_count": 48}


def test_a_mention_is_none() -> None:
    assert kinds("Setting affinity for GPU 0 to ff\nload average is high, %CPU too\n") == ()


def test_damage() -> None:
    survives(TOP)
    survives(AFFINITY)
