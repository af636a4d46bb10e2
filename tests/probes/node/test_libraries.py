"""Libraries of ranks: of real processes that have loaded them, and of what the kernel writes about others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probes.node.interface.elf import read_only_data
from probes.node.libraries import probe
from tests.probes.node.hosts import gaps, host_of, known

NODE = "node:n1"
MAPS = """7f00-7f01 r-xp 00000000 08:01 11 /opt/env/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2
7f01-7f02 r--p 00001000 08:01 11 /opt/env/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2
7f02-7f03 r-xp 00000000 08:01 12 /usr/lib/x86_64-linux-gnu/libnccl.so.2.18.5
7f03-7f04 rw-p 00000000 00:00 0 [heap]
7f04-7f05 r-xp 00000000 08:01 13 /opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so
7f05-7f06 r-xp 00000000 08:01 14 /opt/env/lib/libcudart.so.12.4.127 (deleted)
7f06-7f07 r-xp 00000000 08:01 15 /opt/env/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so
"""
TORCH = "/opt/env/lib/python3.12/site-packages/torch/version.py"


def rank(pid: int, number: int, maps: str) -> dict[str, str]:
    return {
        f"/proc/{pid}/cmdline": "/opt/env/bin/python\0train.py\0",
        f"/proc/{pid}/environ": f"RANK={number}\0WORLD_SIZE=8\0LOCAL_RANK={number}\0MASTER_PORT=29500\0",
        f"/proc/{pid}/stat": f"{pid} (python train) S 1 77 77 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000 0",
        f"/proc/{pid}/maps": maps,
    }


def test_files_versions_and_copies_by_the_maps_of_the_ranks(tmp_path: Path) -> None:
    files = rank(77, 0, MAPS) | rank(78, 1, MAPS) | {TORCH: "__version__ = '2.7.1+cu128'\ndebug = False\n"}
    found = known(probe(host_of(tmp_path, files)))
    assert found["node.nccl_libraries", NODE] == (
        "/opt/env/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
        "/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.5",
    )
    assert found["node.net_plugins", NODE] == ("/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so",)
    assert found["node.nccl_loaded_copies", NODE] == 2
    assert found["node.libraries_replaced", NODE] == ("/opt/env/lib/libcudart.so.12.4.127",)
    versions = found["node.libraries", NODE]
    assert isinstance(versions, tuple)
    assert {line.rpartition(" ")[0] for line in map(str, versions)} == {
        *("libnccl 2", "libnccl 2.18.5", "libcudart 12.4.127", "libtorch_cuda 2.7.1+cu128"),
    }
    assert found["nccl.version", "job"] == "2.18.5"


def test_without_a_job_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert known(probe(host_of(tmp_path, {"/proc/version": "Linux\n"}))) == {}


def test_a_rank_of_another_user_is_not_checked(tmp_path: Path) -> None:
    files = rank(77, 0, MAPS)
    del files["/proc/77/maps"]
    given = list(probe(host_of(tmp_path, files)))
    assert gaps(given) == {"node.nccl_libraries": "No such file or directory"} and known(given) == {}


def library(folder: Path, banner: str) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc to build a library")
    folder.mkdir()
    (folder / "x.c").write_text(f'const char *told(void) {{ return "{banner}"; }}\nint big[4096];\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"{folder}/libnccl.so.2", f"{folder}/x.c"], check=True)
    return folder / "libnccl.so.2"


@contextmanager
def loaded(*libraries: Path) -> Iterator[int]:
    """A process that says it is a rank and has these libraries in its memory."""
    code = "import ctypes, sys; [ctypes.CDLL(p) for p in sys.argv[1:]]; print(flush=True); sys.stdin.read()"
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_PORT": "29417"}
    command = [sys.executable, "-c", code, *map(str, libraries)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload]
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.communicate(timeout=180)


@pytest.mark.parametrize("banner", ["NCCL version 2.18.3+cuda12.2", "NCCL version 2.27.5 compiled with CUDA 12.9"])
def test_a_library_tells_its_version_without_being_run(banner: str, tmp_path: Path) -> None:
    assert banner.encode() in read_only_data(library(tmp_path / "one", banner))


def test_two_copies_in_a_process_that_runs(tmp_path: Path) -> None:
    one = library(tmp_path / "one", "NCCL version 2.18.3+cuda12.2")
    other = library(tmp_path / "other", "NCCL version 2.27.5 compiled with CUDA 12.9")
    with loaded(one, other) as pid:
        (tmp_path / "proc").mkdir()
        (tmp_path / f"proc/{pid}").symlink_to(f"/proc/{pid}")  # other jobs may run on this machine
        found = known(probe(host_of(tmp_path, {})))
    assert found["node.nccl_loaded_copies", NODE] == 2
    assert found["node.nccl_loaded", NODE] == ("2.18.3", "2.27.5")
    assert set(found["node.nccl_libraries", NODE]) == {str(one), str(other)}  # type: ignore[call-overload]
    assert ("nccl.version", "job") not in found


def test_the_version_of_the_only_copy_is_the_jobs(tmp_path: Path) -> None:
    with loaded(library(tmp_path / "one", "NCCL version 2.27.5 compiled with CUDA 12.9")) as pid:
        (tmp_path / "proc").mkdir()
        (tmp_path / f"proc/{pid}").symlink_to(f"/proc/{pid}")
        found = known(probe(host_of(tmp_path, {})))
    assert (found["node.nccl_loaded_copies", NODE], found["nccl.version", "job"]) == (1, "2.27.5")


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 300, b"MZ" * 400])
def test_what_is_no_library_says_so(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(data)
    with pytest.raises(ValueError):
        read_only_data(tmp_path / "x.so")
