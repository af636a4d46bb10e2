"""PCIe trees as sysfs has them: a link in /sys/bus/pci/devices to a folder below the root of its bus."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import look, read_node
from probes.node.interface.host import Host
from probes.node.placement import probe
from tests.probes.node.hosts import host_of, known

SWITCH = "pci0000:17/0000:17:01.0/0000:18:00.0"  # a root port and the upstream port of a switch


def hang(root: Path, path: str, kind: str = "0x030200", vendor: str = "0x10de", numa: int = 0, nic: str = "") -> None:
    """A device at the end of `path` below /sys/devices."""
    folder = root / "sys/devices" / path
    folder.mkdir(parents=True)
    for name, text in {"class": kind, "vendor": vendor, "numa_node": str(numa)}.items():
        (folder / name).write_text(text + "\n")
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True, exist_ok=True)
    (bus / folder.name).symlink_to(folder)
    if nic:
        device = root / "sys/class/infiniband" / nic
        device.mkdir(parents=True)
        (device / "device").symlink_to(folder)


def card(root: Path, path: str, name: str, numa: int = 0) -> None:
    hang(root, path, "0x020700", "0x15b3", numa, name)


@pytest.mark.parametrize(
    ("nic", "numa", "kind"),
    [
        (f"{SWITCH}/0000:19:01.0/0000:1b:00.0", 0, "PIX"),
        (f"{SWITCH}/0000:19:01.0/0000:1b:00.0/0000:1c:00.0/0000:1d:00.0", 0, "PXB"),
        ("pci0000:17/0000:17:03.0/0000:2b:00.0", 0, "PHB"),
        ("pci0000:37/0000:37:01.0/0000:3b:00.0", 0, "NODE"),
        ("pci0000:97/0000:97:01.0/0000:9b:00.0", 1, "SYS"),
        ("pci0000:97/0000:97:01.0/0000:9b:00.0", -1, ""),
    ],
)
def test_how_far_a_card_is(tmp_path: Path, nic: str, numa: int, kind: str) -> None:
    hang(tmp_path, f"{SWITCH}/0000:19:00.0/0000:1a:00.0")
    card(tmp_path, nic, "mlx5_0", numa)
    found = known(probe(host_of(tmp_path, {"/proc/version": ""})))
    assert found.get(("node.nic_topology", "node:n1"), "") == kind
    assert found.get(("gpu.nearest_nics", "gpu:n1/0")) == ((f"mlx5_0 {kind}",) if kind else None)


def test_each_gpu_has_its_own_and_the_farthest_is_the_nodes(tmp_path: Path) -> None:
    hang(tmp_path, f"{SWITCH}/0000:19:00.0/0000:1a:00.0")
    card(tmp_path, f"{SWITCH}/0000:19:01.0/0000:1b:00.0", "mlx5_0")
    hang(tmp_path, "pci0000:97/0000:97:01.0/0000:9a:00.0", numa=1)
    card(tmp_path, "pci0000:a7/0000:a7:01.0/0000:ab:00.0", "mlx5_1", 1)
    found = known(probe(host_of(tmp_path, {"/proc/version": ""})))
    assert found["gpu.nearest_nics", "gpu:n1/0"] == ("mlx5_0 PIX",)
    assert found["gpu.nearest_nics", "gpu:n1/1"] == ("mlx5_1 NODE",)
    assert found["node.nic_topology", "node:n1"] == "NODE"
    assert (found["gpu.numa_node", "gpu:n1/0"], found["gpu.numa_node", "gpu:n1/1"]) == (0, 1)


def ranks(root: Path, allowed: str, visible: str = "0,1") -> Host:
    """Two ranks on a machine with a GPU and four processors on each of two sockets."""
    hang(root, "pci0000:17/0000:17:01.0/0000:1a:00.0")
    hang(root, "pci0000:97/0000:97:01.0/0000:9a:00.0", numa=1)
    files = {f"/sys/devices/system/node/node{n}/cpulist": f"{4 * n}-{4 * n + 3}\n" for n in range(2)}
    for n in range(2):
        files[f"/proc/{70 + n}/cmdline"] = "python\0train.py\0"
        environ = f"RANK={n}\0WORLD_SIZE=2\0LOCAL_RANK={n}\0MASTER_PORT=29500\0CUDA_VISIBLE_DEVICES={visible}\0"
        files[f"/proc/{70 + n}/environ"] = environ
        files[f"/proc/{70 + n}/stat"] = f"{70 + n} (python) S 1 70 70 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000 0"
        files[f"/proc/{70 + n}/status"] = f"Name:\tpython\nCpus_allowed_list:\t{allowed}\n"
    return host_of(root, files)


def causes(host: Host) -> dict[str, str]:
    report = judge(read_node(look(host, ["placement", "job"]), load_rulebase()), Answers())
    return {finding.rule.id: str(finding.rule.severity) for finding in report.diagnosis.findings}


def test_ranks_that_may_run_on_the_other_socket_only(tmp_path: Path) -> None:
    host = ranks(tmp_path, "0-3")
    found = known(probe(host))
    assert (found["rank.cpus_allowed", "rank:0"], found["rank.cpus_near_gpu", "rank:0"]) == (4, 4)
    assert (found["rank.gpu", "rank:1"], found["rank.cpus_near_gpu", "rank:1"]) == (1, 0)
    assert causes(host)["HW028"] == "risk"


def test_ranks_that_are_not_bound_are_near(tmp_path: Path) -> None:
    host = ranks(tmp_path, "0-7")
    assert known(probe(host))["rank.cpus_near_gpu", "rank:1"] == 4
    assert causes(host) == {}


def test_gpus_that_are_not_told_are_not_guessed(tmp_path: Path) -> None:
    found = known(probe(ranks(tmp_path, "0-3", visible="GPU-8f6e,GPU-1a2b")))
    assert ("rank.gpu", "rank:0") not in found and found["rank.cpus_allowed", "rank:0"] == 4


def test_a_machine_without_pci_says_so(tmp_path: Path) -> None:
    (gap,) = probe(host_of(tmp_path, {"/proc/version": ""}))
    assert (gap.name, gap.value) == ("gpu.numa_node", "No such file or directory")
