"""`pdoctor run` whole, with sysfs at its real path in a mount namespace and GPUs of a mock under nvidia-ml-py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.probes.node.gpus import library, table
from tests.probes.node.hosts import host_of
from tests.probes.node.ports import port

APART = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c")
"""With processes of its own, since jobs of others may run on this machine."""
INSIDE = "mount -t tmpfs tmpfs /sys/class && cp -r {classes}/. /sys/class/ && exec {command}"


@cache
def refused() -> str:
    """Why no mount namespace can be had here, "" if it can."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "only root may make a mount namespace"
    tried = [*APART, "mount -t tmpfs tmpfs /sys/class"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"no mount namespace here: {done.stderr.strip()}"


def run_with(folder: Path, *ports: Mapping[str, str]) -> tuple[int, list[dict[str, Any]]]:
    """Exit status and findings of `pdoctor run` on a node with eight H100 and these ports."""
    if reason := refused():
        pytest.skip(reason)
    host_of(folder, {name: text for files in ports for name, text in files.items() if name.startswith("/sys/")})
    shutil.copytree("/sys/class/net", folder / "sys/class/net", symlinks=True)
    inside = INSIDE.format(classes=folder / "sys/class", command=f"{sys.executable} -m doctor run --json --no-input")
    environment = {**os.environ, "LD_LIBRARY_PATH": library(), "NVML_TABLE": str(table(folder))}
    done = subprocess.run([*APART, inside], capture_output=True, text=True, env=environment, check=False)
    assert "Traceback" not in done.stderr and done.stdout, done.stderr
    report = json.loads(done.stdout)
    # what this machine allows to lock is its own matter, and counts where there is RDMA
    return done.returncode, [finding for finding in report["findings"] if finding["cause"] != "host-limits-low"]


def test_eight_gpus_and_eight_ports_that_are_well(tmp_path: Path) -> None:
    assert run_with(tmp_path, *(port(f"mlx5_{n}") for n in range(8))) == (0, [])


def test_a_port_that_is_down_is_named(tmp_path: Path) -> None:
    ports = [
        port(f"mlx5_{n}", **({"state": "1: DOWN", "phys_state": "3: Disabled"} if n == 2 else {})) for n in range(8)
    ]
    status, (finding,) = run_with(tmp_path, *ports)
    assert (status, finding["cause"], finding["severity"]) == (0, "ib-port-down", "risk")  # it may not be wired
    assert [entity.rpartition("/")[2] for entity in finding["entities"]] == ["mlx5_2"]
