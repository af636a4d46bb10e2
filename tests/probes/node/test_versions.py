from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from probes.node import versions
from probes.node.interface.host import Host
from probes.node.interface.processes import Ranks, ranks_here
from tests.probes.node.hosts import gaps, host_of, known

NODE = "node:n1"


def rank(root: Path, python: str = "/opt/env/bin/python") -> Host:
    environ = "RANK=0\0WORLD_SIZE=8\0LOCAL_RANK=0\0"
    files = {
        "/proc/77/cmdline": f"{python}\0train.py\0",
        "/proc/77/environ": environ,
        "/proc/77/stat": "77 (python train) S 1 77",
    }
    return host_of(root, files)


def test_packages_of_the_interpreter_that_was_named(tmp_path: Path) -> None:
    found = known(versions.probe(replace(host_of(tmp_path, {"/proc/x": ""}), python=sys.executable)))
    assert found["pip.click", "job"] == version("click")
    assert found["node.python", NODE] == ".".join(map(str, sys.version_info[:3]))


def test_cuda_of_torch_and_wheels_of_nccl_without_importing_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "torch").mkdir(parents=True)
    (site / "torch/__init__.py").write_text("raise SystemExit('torch was imported')")
    (site / "torch/version.py").write_text("__version__ = '2.7.1+cu128'\ncuda: Optional[str] = '12.8'\nhip = None\n")
    for name, number in (("nvidia-nccl-cu12", "2.26.2"), ("nvidia-nccl-cu11", "2.20.5"), ("torch", "2.7.1+cu128")):
        folder = site / f"{name.replace('-', '_')}-{number}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    found = known(versions.probe(replace(host_of(tmp_path, {"/proc/x": ""}), python=sys.executable)))
    assert found["node.cuda_build", NODE] == "12.8"
    assert found["pip.torch", "job"] == "2.7.1+cu128"
    wheels = found["pip.nccl_wheels", "job"]
    assert isinstance(wheels, tuple)
    assert set(wheels) == {"nvidia_nccl_cu12==2.26.2", "nvidia_nccl_cu11==2.20.5"}


def test_the_interpreter_is_the_jobs_then_the_active_one(tmp_path: Path) -> None:
    host = rank(tmp_path)
    assert versions.interpreter(host, ranks_here(host)) == f"{tmp_path}/opt/env/bin/python"
    active = replace(host, environ={"VIRTUAL_ENV": "/venv"})
    assert versions.interpreter(active, Ranks()) == "/venv/bin/python"
    assert versions.interpreter(replace(active, python="/usr/bin/py"), Ranks()) == "/usr/bin/py"
    assert versions.interpreter(host, Ranks()) == "python3"


@pytest.mark.parametrize(
    ("text", "reason"),
    [("#!/bin/sh\necho hello\n", "printed something else"), ("#!/bin/sh\necho no >&2; exit 3\n", "no")],
)
def test_an_interpreter_that_is_none_says_why(tmp_path: Path, text: str, reason: str) -> None:
    program = tmp_path / "python"
    program.write_text(text)
    program.chmod(0o755)
    given = versions.probe(replace(host_of(tmp_path, {"/proc/x": ""}), python=str(program)))
    assert reason in gaps(given)["node.python"]


def test_an_interpreter_that_is_not_there_says_why(tmp_path: Path) -> None:
    given = versions.probe(replace(host_of(tmp_path, {"/proc/x": ""}), python="/no/such/python"))
    assert gaps(given)["node.python"] == "/no/such/python: No such file or directory"
