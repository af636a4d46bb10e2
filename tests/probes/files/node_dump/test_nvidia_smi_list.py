"""nvidia-smi -L, gpustat and dmon."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

LIST = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 1g.5gb      Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 1g.5gb      Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-11111111-d33d-2b2c-524d-9e3d8d2b8a77)
"""
GPUSTAT = "[0] NVIDIA A100-SXM4-80GB | 66'C,  98 % | 70123 / 81920 MB | user:python/4242(70000M)\n"
DMON = """\
# gpu    pwr  gtemp  mtemp     sm    mem
# Idx      W      C      C      %      %
    0    300     60     70     90     40
    1     80     40      -      0      0
    0    310     62     70     70     40
"""


def test_mig_devices_are_counted() -> None:
    found = facts(LIST)
    assert found["gpu:?/0", "gpu.mig_instances"] == 2
    assert ("gpu:?/1", "gpu.mig") not in found
    assert found["node:?", "node.gpu_count"] == 2


def test_gpustat() -> None:
    found = facts(GPUSTAT)
    assert found["gpu:?/0", "gpu.memory_used"] == 70123 << 20
    assert found["gpu:?/0", "gpu.utilization"] == 0.98


def test_dmon_gives_means() -> None:
    found = facts(DMON)
    assert found["gpu:?/0", "gpu.utilization"] == 0.8
    assert found["gpu:?/1", "gpu.utilization"] == 0
    assert found["gpu:?/0", "gpu.power"] == 305


def test_a_note_of_dmon() -> None:
    assert node("nvidia-smi dmon, mean of a minute\nsm 23 %, mem 8 %\n")["node.gpu_utilization"] == 0.23


def test_near_misses() -> None:
    assert kinds("GPU 0: allocated (UUID: 3)\nsm 12 %\n") == ()
    assert kinds("[0] step | loss 3 | 10 / 20 MB |\n") == ()


def test_damage() -> None:
    survives(LIST + GPUSTAT + DMON)
