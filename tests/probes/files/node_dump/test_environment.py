"""Environment variables."""

from __future__ import annotations

from probes.files.node_dump import read_dump
from probes.secrets import HIDDEN, is_secret, redact_text
from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

ENV = """\
PATH=/usr/local/bin:/usr/bin
NCCL_IB_HCA==mlx5_0:1
export NCCL_DEBUG="INFO"
declare -x LD_LIBRARY_PATH="/opt/amazon/efa/lib"
HF_TOKEN=hf_abcdefgh
WANDB_API_KEY=0123456789
TOKENIZERS_PARALLELISM=false
OMP_NUM_THREADS=unset
"""


def test_variables_in_each_form() -> None:
    found = node(ENV)
    assert found["env.NCCL_DEBUG"] == "INFO"
    assert found["env.LD_LIBRARY_PATH"] == "/opt/amazon/efa/lib"
    assert found["env.NCCL_IB_HCA"] == "=mlx5_0:1"
    assert "env.OMP_NUM_THREADS" not in found


def test_secrets_are_taken_out_of_value_and_source() -> None:
    reading = read_dump("env.txt", ENV.encode())
    assert node(ENV)["env.HF_TOKEN"] == HIDDEN
    assert node(ENV)["env.TOKENIZERS_PARALLELISM"] == "false"
    assert not [fact for fact in reading.facts if "hf_abc" in fact.source.text or "0123456" in fact.source.text]
    assert is_secret("AWS_SECRET_ACCESS_KEY") and not is_secret("NCCL_DEBUG")
    assert redact_text("x http_proxy=http://bob:pw@proxy:1 y") == f"x http_proxy=http://{HIDDEN}@proxy:1 y"


def test_a_named_host_has_its_own() -> None:
    found = facts("ops@n07:~$ env | grep NCCL\nNCCL_SOCKET_IFNAME=eth1\n")
    assert found["node:n07", "env.NCCL_SOCKET_IFNAME"] == "eth1"
    assert found["job", "env.NCCL_SOCKET_IFNAME"] == "eth1"


def test_a_dump_in_the_midst_of_a_log() -> None:
    log = (
        "starting\n" * 40 + "RANK=0\nWORLD_SIZE=8\nMASTER_ADDR=10.0.0.1\nNCCL_DEBUG=INFO\nHOME=/root\n" + "step\n" * 40
    )
    assert node(log)["env.MASTER_ADDR"] == "10.0.0.1"


def test_os_environ() -> None:
    assert node("environ({'RANK': '3', 'NCCL_P2P_DISABLE': '1'})\n")["env.NCCL_P2P_DISABLE"] == "1"


def test_launch_lines_and_single_assignments_in_a_log_are_none() -> None:
    assert kinds("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py\n") == ()
    assert kinds("step 1\nLR=0.1\nstep 2\nNCCL_DEBUG=INFO\nstep 3\nstep 4\n") == ()


def test_damage() -> None:
    survives(ENV)
