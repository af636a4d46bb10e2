"""Facts of a node in the kernel's log."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

AMD = """\
[    0.000000] Linux version 5.15.0-91-generic (buildd@bos) (gcc 11.4.0)
[    0.000000] Command line: BOOT_IMAGE=/vmlinuz-5.15.0-91-generic root=UUID=1 ro quiet
[    1.100000] iommu: Default domain type: Translated
[    1.200000] AMD-Vi: Interrupt remapping enabled
[   13.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023
"""


def test_versions_and_iommu() -> None:
    found = node(AMD)
    assert found["node.kernel"] == "5.15.0-91-generic"
    assert found["node.driver_version"] == "535.129.03"
    assert found["node.open_driver"] is False
    assert (found["node.iommu"], found["node.iommu_vendor"]) == ("on", "amd")


def test_options_of_the_kernel_decide() -> None:
    assert node(AMD.replace("ro quiet", "ro amd_iommu=on iommu=pt"))["node.iommu"] == "passthrough"
    assert node("$ cat /proc/cmdline\nroot=/dev/sda1 ro intel_iommu=off\n")["node.iommu"] == "off"
    assert node("kernel boots with intel_iommu=on\n")["node.iommu"] == "on"


def test_open_modules() -> None:
    text = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build\n"
    assert node(text) == {"node.driver_version": "560.35.03", "node.open_driver": True}


def test_a_domain_type_alone_says_nothing_of_the_iommu() -> None:
    assert node("[    1.1] iommu: Default domain type: Translated\n") == {}


def test_messages_of_a_job_are_none() -> None:
    assert kinds("Linux is required\nThe command line was python train.py\n") == ()
    assert kinds("IOMMU settings were not checked\n") == ()


def test_damage() -> None:
    survives(AMD)
