"""Comma-separated output of nvidia-smi."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, survives

QUERY = """\
index, driver_version, memory.used [MiB], utilization.gpu [%], clocks_event_reasons.active, remapped_rows.uncorrectable
0, 535.129.03, 30100 MiB, 97 %, 0x0000000000000004, 0
1, 535.129.03, 30111 MiB, 99 %, 0x0000000000000048, [N/A]
"""

APPS = """\
gpu_bus_id, pid, process_name, used_gpu_memory [MiB]
00000000:1B:00.0, 100, python3, 2000 MiB
00000000:1B:00.0, 101, python3, 400 MiB
"""


def test_columns_by_their_names() -> None:
    found = facts(QUERY)
    assert found["gpu:?/0", "gpu.memory_used"] == 30100 << 20
    assert found["gpu:?/1", "gpu.utilization"] == 0.99
    assert found["gpu:?/0", "gpu.throttle_reasons"] == ("sw_power_cap",)
    assert found["gpu:?/1", "gpu.throttle_reasons"] == ("hw_slowdown", "hw_thermal_slowdown")
    assert found["gpu:?/0", "gpu.remap_uncorrectable"] == 0
    assert ("gpu:?/1", "gpu.remap_uncorrectable") not in found
    assert found["node:?", "node.driver_version"] == "535.129.03"


def test_units_in_the_heading_alone() -> None:
    assert facts("index, memory.used [MiB]\n0, 512\n")["gpu:?/0", "gpu.memory_used"] == 512 << 20


def test_a_loop_keeps_the_busiest_sample() -> None:
    text = "index, memory.used [MiB]\n0, 5 MiB\n1, 5 MiB\n0, 900 MiB\n1, 800 MiB\n0, 7 MiB\n"
    found = facts(text)
    assert (found["gpu:?/0", "gpu.memory_used"], found["gpu:?/1", "gpu.memory_used"]) == (900 << 20, 800 << 20)
    assert found["node:?", "node.gpu_count"] == 2


def test_the_command_tells_what_a_missing_heading_would() -> None:
    text = "$ nvidia-smi --query-gpu=index,memory.used,utilization.gpu --format=csv,noheader,nounits\n0, 512, 98\n"
    found = facts(text)
    assert found["gpu:?/0", "gpu.memory_used"] == 512 << 20
    assert found["gpu:?/0", "gpu.utilization"] == 0.98


def test_a_lost_gpu() -> None:
    assert facts("index, memory.used [MiB]\n0, [GPU is lost]\n")["gpu:?/0", "gpu.unreadable"] == "[GPU is lost]"


def test_processes() -> None:
    assert facts(APPS)["gpu:?/00000000:1b:00.0", "gpu.process_pids"] == (100, 101)


def test_another_csv_is_none() -> None:
    assert kinds("name, memory, time\nlinear, 10 MiB, 3\n") == ()
    assert kinds("the columns index, memory.used and memory.total were asked for\n") == ()


def test_damage() -> None:
    survives(QUERY)
    survives(APPS)
