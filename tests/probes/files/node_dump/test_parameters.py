"""Parameters of driver and kernel."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

TEXT = """\
EnableGpuFirmware: 0
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build
net.ipv4.ip_local_port_range = 32768\t60999
net.ipv4.conf.all.rp_filter = 2
net.ipv4.conf.eth1.rp_filter = 1
kernel.numa_balancing = 1
"""


def test_parameters() -> None:
    found = node(TEXT)
    assert found["node.gsp_firmware"] == "disabled"
    assert found["node.driver_version"] == "570.124.06"
    assert found["node.open_driver"] is True
    assert found["node.local_ports"] == 28232
    assert found["node.rp_filter"] == 1
    assert found["node.numa_balancing"] is True


def test_the_default_mode_of_the_firmware() -> None:
    assert node("EnableGpuFirmware: 18\n") == {"node.gsp_firmware": "default"}
    assert node("options nvidia NVreg_EnableGpuFirmware=0\n") == {"node.gsp_firmware": "disabled"}


def test_other_dotted_names_are_none() -> None:
    assert kinds("kernel.shape = (3, 3)\nvm.run\nnet.fc1.weight = frozen\n") == ()


def test_damage() -> None:
    survives(TEXT)
