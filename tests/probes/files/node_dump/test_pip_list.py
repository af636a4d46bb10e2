"""Package versions."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

FREEZE = "flash-attn==2.5.8\nnvidia-nccl-cu11==2.14.3\nnvidia-nccl-cu12==2.21.5\ntorch==2.5.1+cu121\n"
LIST = """\
Package                  Version
------------------------ -----------
nvidia-nccl-cu12         2.21.5
torch                    2.5.1
transformers             4.46.0.dev0
"""
CONDA = """\
# packages in environment at /opt/conda:
#
# Name                    Version                   Build  Channel
nccl                      2.19.3               h6103f9b_0    conda-forge
pytorch                   2.1.2           cuda120py310h3  conda-forge
"""


def test_names_become_words() -> None:
    found = node(FREEZE)
    assert found["pip.flash_attn"] == "2.5.8"
    assert found["pip.torch"] == "2.5.1+cu121"


def test_two_wheels_of_nccl() -> None:
    assert node(FREEZE)["pip.nccl_wheels"] == ("nvidia_nccl_cu11==2.14.3", "nvidia_nccl_cu12==2.21.5")
    assert node(LIST)["pip.nccl_wheels"] == ("nvidia_nccl_cu12==2.21.5",)


def test_lists_of_conda_and_pip() -> None:
    assert node(LIST)["pip.transformers"] == "4.46.0.dev0"
    assert node(CONDA)["pip.nccl"] == "2.19.3"


def test_what_grep_leaves_and_pip_show() -> None:
    assert node("$ pip list | grep nccl\nnvidia-nccl-cu12    2.18.1\n")["pip.nvidia_nccl_cu12"] == "2.18.1"
    assert node("Name: deepspeed\nVersion: 0.14.4\nSummary: library\n")["pip.deepspeed"] == "0.14.4"


def test_a_log_with_numbers_is_none() -> None:
    assert kinds("torch compile started\nepoch 1\nloss 2.1\n") == ()
    assert kinds("torch is fine\nassert x == 3\naccuracy==0.5 after transformers\nend of run\nbye\n") == ()


def test_damage() -> None:
    survives(FREEZE)
    survives(LIST)
    survives(CONDA)
