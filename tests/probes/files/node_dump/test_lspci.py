"""lspci -vvv."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

BRIDGE = """\
40:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge (prog-if 00 [Normal decode])
	Capabilities: [2a0 v1] Access Control Services
		ACSCap:	SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
"""
GPU = """\
41:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 16GT/s (ok), Width x8 (downgraded)
81:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev ff)
c1:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 8GT/s (downgraded), Width x16 (ok)
"""


def test_redirection_on_a_bridge() -> None:
    found = node(BRIDGE)
    assert found["node.acs_redirect"] is True
    assert found["node.acs_redirect_bridges"] == 1


def test_what_grep_leaves() -> None:
    text = "$ sudo lspci -vvv | grep ACSCtl\n" + "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir-\n" * 3
    assert node(text)["node.acs_redirect"] is False
    assert node(text + "\t\tACSCtl:\tSrcValid+ TransBlk-\n")["node.acs_redirect"] is True


def test_the_capability_alone_says_nothing() -> None:
    assert "node.acs_redirect" not in node(BRIDGE.split("\t\tACSCtl")[0])


def test_lanes_are_judged_and_speed_is_not() -> None:
    found = node(GPU)
    assert found["node.pci_links_narrow"] == ("41:00.0 x8 of x16",)
    assert found["node.pci_gpu_count"] == 2
    assert found["node.pci_devices_lost"] == ("81:00.0",)


def test_a_text_about_acs_is_none() -> None:
    assert kinds("Please look for ACSCtl in the output of lspci; SrcValid+ is bad.\n") == ()


def test_damage() -> None:
    survives(BRIDGE + GPU)
