"""Reports of versions."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

COLLECT = """\
PyTorch version: 2.3.1+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.10.14 (main) (64-bit runtime)
Is CUDA available: True
CUDA runtime version: 12.4.131
GPU models and configuration:
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3
Nvidia driver version: 550.54.15
[pip3] nvidia-nccl-cu12==2.20.5
"""
DS_REPORT = """\
torch version .................... 2.3.0+cu121
deepspeed info ................... 0.14.4, unknown, unknown
torch cuda version ............... 12.1
shared memory (/dev/shm) size .... 64.00 MB
"""


def test_collect_env() -> None:
    found = facts(COLLECT)
    assert found["job", "pip.torch"] == "2.3.1+cu121"
    assert found["node:?", "node.cuda_build"] == "12.1"
    assert found["node:?", "node.driver_version"] == "550.54.15"
    assert found["node:?", "node.cuda_available"] is True
    assert found["gpu:?/1", "gpu.name"] == "NVIDIA H100 80GB HBM3"
    assert found["job", "pip.nvidia_nccl_cu12"] == "2.20.5"


def test_ds_report() -> None:
    found = node(DS_REPORT)
    assert found["pip.deepspeed"] == "0.14.4"
    assert found["node.shm_total"] == 64 << 20


def test_transformers_env() -> None:
    found = node(
        "- `transformers` version: 4.46.2\n- Python version: 3.11.5\n- PyTorch version (GPU?): 2.5.1+cu124 (True)\n"
    )
    assert found["pip.transformers"] == "4.46.2"
    assert found["pip.torch"] == "2.5.1+cu124"


def test_a_note() -> None:
    found = node("4x NVIDIA L40S, torch 2.7.1, accelerate 1.12.0, 16 vCPU, RAM 61.9 GB\n")
    assert found["pip.torch"] == "2.7.1"
    assert found["node.cpus"] == 16
    assert found["node.gpu_names"] == ("NVIDIA L40S",)


def test_a_log_is_none() -> None:
    assert kinds("installing torch 2.1.0\n" + "step\n" * 30) == ()
    assert kinds("NCCL version 2.18.3+cuda12.2\n" + "loss 2.1\n" * 20) == ()


def test_damage() -> None:
    survives(COLLECT)
    survives(DS_REPORT)
