"""How containers were started."""

from __future__ import annotations

from probes.files.node_dump.values import UNLIMITED
from tests.probes.files.node_dump.dumps import kinds, node, survives

RUN = """\
docker run --rm -it --gpus all --ipc=host --network host \\
  --ulimit memlock=-1:-1 --ulimit stack=67108864 --cap-add IPC_LOCK --device=/dev/infiniband \\
  -e NCCL_DEBUG=INFO -e WANDB_API_KEY=abc -v /data:/data nvcr.io/nvidia/pytorch:24.05-py3 bash
"""
INSPECT = """\
[
    {
        "Id": "0123",
        "Config": {"Image": "trainer:1", "Env": ["NCCL_P2P_DISABLE=1", "HF_TOKEN=x"]},
        "HostConfig": {
            "ShmSize": 67108864,
            "IpcMode": "private",
            "NetworkMode": "bridge",
            "Privileged": false,
            "CapAdd": null,
            "Devices": [{"PathOnHost": "/dev/infiniband/uverbs0", "PathInContainer": "/dev/infiniband/uverbs0"}],
            "Ulimits": [{"Name": "memlock", "Hard": -1, "Soft": -1}],
            "Memory": 0
        }
    }
]
"""


def test_a_run_command_over_several_lines() -> None:
    found = node(RUN)
    assert found["container.image"] == "nvcr.io/nvidia/pytorch:24.05-py3"
    assert found["container.ipc"] == "host"
    assert found["container.network"] == "host"
    assert found["container.gpus"] == "all"
    assert found["container.memlock"] == UNLIMITED
    assert found["container.infiniband"] is True
    assert found["container.capabilities"] == ("IPC_LOCK",)
    assert found["env.NCCL_DEBUG"] == "INFO"
    assert found["env.WANDB_API_KEY"] == "<redacted>"
    assert "container.shm_size" not in found


def test_without_options_a_container_has_64_mebibytes() -> None:
    found = node("docker run --gpus all trainer:1 python train.py\n")
    assert found["container.shm_size"] == 64 << 20
    assert found["container.infiniband"] is False


def test_a_given_size() -> None:
    assert node("+ docker run --shm-size=16g --gpus '\"device=0,1\"' trainer\n")["container.shm_size"] == 16 << 30


def test_inspect() -> None:
    found = node(INSPECT)
    assert found["container.shm_size"] == 64 << 20
    assert found["container.ipc"] == "private"
    assert found["container.infiniband"] is True
    assert found["container.memlock"] == UNLIMITED
    assert found["env.NCCL_P2P_DISABLE"] == "1"
    assert found["env.HF_TOKEN"] == "<redacted>"


def test_a_part_of_inspect() -> None:
    assert node('            "ShmSize": 67108864,\n            "IpcMode": "private",\n') == {
        "container.shm_size": 64 << 20,
        "container.ipc": "private",
    }


def test_advice_is_no_start() -> None:
    assert kinds("# docker run --shm-size=1g would help\n") == ()
    assert kinds("use the docker runner, not podman\n") == ()


def test_damage() -> None:
    survives(RUN)
    survives(INSPECT)
    survives("[" * 3000 + '"HostConfig"')
