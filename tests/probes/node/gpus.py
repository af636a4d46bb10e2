"""pdoctor over a mock of NVIDIA's library that is built from C, with the real nvidia-ml-py between them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

SOURCE = Path(__file__).parent / "nvml" / "mock.c"
HOST = {"driver": "575.57.08", "cuda": "12090", "count": "8"}
H100 = {
    "name": "NVIDIA H100 80GB HBM3",
    "memory.total": "85520809984",
    "memory.reserved": "571801600",
    "memory.used": "4521984",
    "bar1": "137438953472",
    "use": "0",
    "clock": "345",
    "clock.most": "1980",
    "throttle": "1",
    "state": "0",
    "temperature": "34",
    "temperature.slow": "90",
    "power": "70000",
    "power.limit": "700000",
    "power.default": "700000",
    "ecc": "1",
    "ecc.0.0": "0",
    "ecc.1.0": "0",
    "ecc.0.1": "0",
    "ecc.1.1": "0",
    "remap": "0",
    "pcie.gen": "5",
    "pcie.gen.most": "5",
    "pcie.width": "16",
    "pcie.width.most": "16",
    "pcie.replays": "0",
    "mode": "0",
    "persistence": "1",
    "links": "18",
    "link": "1",
    "link.remote": "2",
    "link.errors.0": "0",
    "link.errors.1": "0",
    "link.errors.2": "0",
    "link.errors.3": "0",
    "fabric": "3",
    "mig": "0",
    "near": "50",
    "peer": "0",
    "field.230": "0",
}
"""A card as a healthy HGX H100 that is idle shows it."""


@cache
def library() -> str:
    """The folder of the mock, built once a session; a machine without compiler skips."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc to build the mock of libnvidia-ml.so.1")
    folder = mkdtemp(prefix="nvml-")
    built = [*("gcc", "-shared", "-fPIC", "-w", "-o"), f"{folder}/libnvidia-ml.so.1", str(SOURCE)]
    subprocess.run(built, check=True)
    return folder


def table(
    folder: Path,
    host: Mapping[str, str] = HOST,
    gpus: Mapping[int, Mapping[str, str]] | None = None,
    events: Sequence[tuple[int, int]] = (),
) -> Path:
    """What the mock answers: eight healthy cards, but for the values given; `events` are GPUs and their Xids."""
    lines = [f"host {key} {value}" for key, value in {**HOST, **host}.items()]
    lines += [f"* {key} {value}" for key, value in H100.items()]
    lines += [f"{gpu} bus 00000000:{0x18 + 0x11 * gpu:02X}:00.0" for gpu in range(8)]
    lines += [f"{gpu} {key} {value}" for gpu, own in (gpus or {}).items() for key, value in own.items()]
    lines += [f"{gpu} event {code}" for gpu, code in events]
    path = folder / "nvml.table"
    path.write_text("\n".join(lines) + "\n")
    return path


@cache
def alone() -> tuple[str, ...]:
    """The command before one that runs in a process namespace of its own; empty where that is not allowed."""
    command = ("unshare", "--pid", "--fork", "--mount-proc")
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        allowed = False
    return command if allowed else ()


def pdoctor(*arguments: str, values: Path | None = None) -> tuple[int, str]:
    """Exit status and output of a pdoctor of its own, since the library is found when a process starts.

    It sees no processes but its own, where that can be had: other tests run jobs on this machine, which it would judge.
    """
    environment = {**os.environ, "LD_LIBRARY_PATH": library(), "NVML_TABLE": str(values or "")}
    command = [*alone(), sys.executable, "-m", "doctor", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def facts_of(values: Path) -> dict[tuple[str, str], object]:
    """What the GPU probe finds, by name and place (`gpu:N`, `node:`)."""
    _, shown = pdoctor("probe", "gpu", "--json", values=values)
    (found,) = json.loads(shown)
    return {
        (fact["name"], f"gpu:{fact['entity'].rpartition('/')[2]}" if fact["entity"].startswith("gpu:") else "node"): fact["value"]
        for fact in found["facts"]
    }  # fmt: skip


def causes_of(values: Path, *arguments: str) -> tuple[int, dict[str, dict[str, object]]]:
    """Exit status of `pdoctor run`, and its findings by cause."""
    status, shown = pdoctor("run", "--json", "--no-input", *arguments, values=values)
    return status, {finding["cause"]: finding for finding in json.loads(shown)["findings"]}
