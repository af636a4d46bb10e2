"""Kernel modules."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

FEW = "nvidia_peermem         16384  0\nib_core               491520  9 rdma_cm,ib_ipoib,nvidia_peermem,mlx5_ib\n"
ROWS = "".join(f"module_{i}   16384  0\n" for i in range(25))
WHOLE = f"""\
Module                  Size  Used by
nvidia_uvm           4800000  2
nvidia              56000000  99 nvidia_uvm
ib_core               400000  1 mlx5_ib
{ROWS}"""


def test_a_loaded_module() -> None:
    assert node(FEW)["node.peermem_loaded"] is True
    assert "mlx5_ib" in str(node(FEW)["node.modules"])


def test_a_whole_list_without_it() -> None:
    assert node(WHOLE)["node.peermem_loaded"] is False


def test_a_cut_list_says_nothing() -> None:
    assert "node.peermem_loaded" not in node("\n".join(WHOLE.splitlines()[:4]))


def test_grep_that_found_nothing() -> None:
    assert node("$ lsmod | grep peermem\n$ nproc\n8\n")["node.peermem_loaded"] is False


def test_a_command_without_a_prompt_may_be_advice() -> None:
    assert kinds("lsmod | grep nvidia_peermem\ndf -h\n") == ()
    assert node("lsmod | grep nvidia_peermem -> (nothing)\n") == {"node.peermem_loaded": False}


def test_grep_for_the_driver_shows_all_its_modules() -> None:
    text = "$ lsmod | grep nvidia\nnvidia_uvm 4800000 2\nnvidia 56000000 99 nvidia_uvm\n"
    assert node(text)["node.peermem_loaded"] is False


def test_messages() -> None:
    fatal = "modprobe: FATAL: Module nvidia-peermem not found in directory /lib/modules/5.15"
    assert node(fatal + "\n")["node.peermem_loaded"] is False
    assert node("nv_peer_mem: module not found\n") == {"node.peermem_loaded": False}
    refused = "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument"
    assert node(refused + "\n") == {"node.modprobe_error": refused}


def test_nccls_lines_are_none() -> None:
    assert kinds("NCCL INFO nvidia-peermem is used by GPU 0\nmodel 7000 3\n") == ()


def test_damage() -> None:
    survives(FEW)
    survives(WHOLE)
