"""Variables that NCCL takes from its own files. Those of ranks are tested with the job."""

from __future__ import annotations

from pathlib import Path

from probes.node.environment import probe
from tests.probes.node.hosts import host_of, known

NODE = "# of this cluster\nNCCL_SOCKET_IFNAME=eth0\nNCCL_DEBUG=WARN\nno sign\nPATH=/evil\n"


def test_files_count_where_nothing_is_set_and_the_users_first(tmp_path: Path) -> None:
    files = {"/proc/version": "", "/etc/nccl.conf": NODE, "/home/u/.nccl.conf": "NCCL_DEBUG=INFO\nNCCL_IB_HCA=mlx5_0\n"}
    found = known(probe(host_of(tmp_path, files, {"HOME": "/home/u", "NCCL_IB_HCA": "mlx5_7"})))
    assert found["env.NCCL_SOCKET_IFNAME", "job"] == "eth0"
    assert found["env.NCCL_DEBUG", "job"] == "INFO"
    assert found["env.NCCL_IB_HCA", "node:n1"] == "mlx5_7"
    assert ("env.PATH", "job") not in found


def test_a_file_that_is_named_replaces_the_one_at_home(tmp_path: Path) -> None:
    files = {"/proc/version": "", "/home/u/.nccl.conf": "NCCL_DEBUG=INFO\n", "/opt/n.conf": "NCCL_ALGO=Ring\n"}
    found = known(probe(host_of(tmp_path, files, {"HOME": "/home/u", "NCCL_CONF_FILE": "/opt/n.conf"})))
    assert found["env.NCCL_ALGO", "job"] == "Ring" and ("env.NCCL_DEBUG", "job") not in found


def test_no_files_are_nothing_to_tell(tmp_path: Path) -> None:
    assert list(probe(host_of(tmp_path, {"/proc/version": ""}))) == []
