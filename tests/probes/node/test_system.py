from __future__ import annotations

from pathlib import Path

from probes.node.system import probe
from tests.probes.node.hosts import gaps, host_of, known

NODE = "node:n1"
FILES = {
    "/proc/sys/kernel/osrelease": "6.8.0-60-generic\n",
    "/proc/sys/kernel/numa_balancing": "1\n",
    "/proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 intel_iommu=on\n",
    "/sys/module/nvidia/version": "575.57.08\n",
    "/sys/module/mlx5_core/version": "1\n",
    "/sys/module/ext4/version": "1\n",
    "/sys/kernel/iommu_groups/0/type": "DMA-FQ\n",
    "/sys/kernel/iommu_groups/1/type": "identity\n",
    "/proc/meminfo": "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable: 500 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n"
    "HugePages_Total:    512\nHugePages_Free:     500\nHugepagesize:       2048 kB\n",
    "/proc/loadavg": "1.25 1.00 0.90 2/345 678\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    **{f"/sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor": "performance\n" for n in range(3)},
    "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": "powersave\n",
    "/sys/devices/system/node/node0/cpulist": "0-3\n",
    "/sys/devices/system/node/node1/cpulist": "\n",
}


def test_what_the_kernel_makes_of_the_machine(tmp_path: Path) -> None:
    given = list(probe(host_of(tmp_path, FILES)))
    found = {name: value for (name, _), value in known(given).items()}
    assert gaps(given) == {}
    assert found["node.kernel"] == "6.8.0-60-generic"
    assert found["node.numa_balancing"] is True
    assert found["node.local_ports"] == 28232
    assert found["node.modules"] == ("mlx5_core", "nvidia")
    assert found["node.peermem_loaded"] is False
    assert found["node.iommu"] == "on"
    assert (found["node.memory_total"], found["node.swap_used"]) == (1000 << 10, 40 << 10)
    assert (found["node.cpus"], found["node.load"]) == (4, 1.25)
    assert found["node.cpu_governor"] == "powersave"
    assert (found["node.numa_nodes"], found["node.numa_nodes_without_cpus"]) == (2, ("1",))


def test_groups_tell_of_the_iommu_and_not_the_options(tmp_path: Path) -> None:
    files = FILES | {"/sys/kernel/iommu_groups/0/type": "identity\n"}
    given = list(probe(host_of(tmp_path, files)))
    assert [item.value for item in given if getattr(item, "name", "") == "node.iommu"] == ["passthrough"]


def test_peer_memory_is_asked_only_where_there_is_a_gpu_driver(tmp_path: Path) -> None:
    loaded = FILES | {"/sys/module/nvidia_peermem/version": "1\n"}
    assert known(probe(host_of(tmp_path / "a", loaded)))["node.peermem_loaded", NODE] is True
    none = {name: text for name, text in FILES.items() if "nvidia" not in name}
    assert ("node.peermem_loaded", NODE) not in known(probe(host_of(tmp_path / "b", none)))


def test_a_part_that_is_not_there_costs_its_own_facts_only(tmp_path: Path) -> None:
    given = list(probe(host_of(tmp_path, {"/proc/sys/kernel/osrelease": "6.8.0\n"})))
    assert known(given)["node.kernel", NODE] == "6.8.0"
    assert {"node.memory", "node.processors", "node.iommu"} <= set(gaps(given))


def test_huge_pages_and_what_makes_them(tmp_path: Path) -> None:
    found = known(probe(host_of(tmp_path, FILES)))
    assert (found["node.huge_pages", NODE], found["node.huge_pages_free", NODE]) == (512, 500)
    assert found["node.transparent_huge_pages", NODE] == "madvise"
    assert ("node.imex_channels", NODE) not in found


def test_channels_between_nodes_where_the_driver_has_them(tmp_path: Path) -> None:
    channels = {f"/dev/nvidia-caps-imex-channels/channel{n}": "" for n in range(2)}
    assert known(probe(host_of(tmp_path / "a", FILES | channels)))["node.imex_channels", NODE] == 2
    (tmp_path / "b/dev/nvidia-caps-imex-channels").mkdir(parents=True)
    assert known(probe(host_of(tmp_path / "b", FILES)))["node.imex_channels", NODE] == 0
