"""Which processes are ranks, and of which job: by what they were told and have loaded, not by their names."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from probes.node import job
from probes.node.interface.host import Host
from probes.node.interface.processes import ranks_here
from tests.probes.node.hosts import gaps, host_of, known, places

TORCH = "7f00-7f01 r-xp 0 00:00 1 /env/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so\n"


def process(
    pid: int,
    parent: int,
    environ: dict[str, object],
    command: str = "python train.py",
    maps: str = "",
    state: str = "S",
) -> dict[str, str]:
    told = "\0".join(f"{name}={value}" for name, value in environ.items())
    place = f"/proc/{pid}"
    return {
        f"{place}/cmdline": command.replace(" ", "\0") + "\0",
        f"{place}/environ": told + "\0",
        f"{place}/stat": f"{pid} (python (x)) {state} {parent} {pid} {parent}" + " 0" * 15 + f" {pid}",
        f"{place}/maps": maps,
    }


def ranks(first: int, parent: int, port: int, count: int, **more: object) -> dict[str, str]:
    """`count` ranks as torchrun starts them."""
    files: dict[str, str] = {}
    for rank in range(count):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_PORT": port}
        files |= process(first + rank, parent, {**place, **more})
    return files


def launcher(pid: int, command: str) -> dict[str, str]:
    return process(pid, 1, {}, command)


def pids(host: Host) -> list[int]:
    return [rank.pid for rank in ranks_here(host).job]


def test_jobs_are_told_apart_and_can_be_chosen(tmp_path: Path) -> None:
    files = ranks(100, 10, 29500, 4) | ranks(200, 20, 29501, 2, SLURM_JOB_ID=77) | launcher(20, "srun python train.py")
    host = host_of(tmp_path, files)
    assert [(one.name, len(one.ranks)) for one in ranks_here(host).jobs] == [("29500", 4), ("77", 2)]
    assert pids(host) == [100, 101, 102, 103]
    for chosen in ({"job": "77"}, {"job": "29501"}, {"job": "20"}, {"pid": 201}, {"pid": 20}):
        assert pids(replace(host, **chosen)) == [200, 201]  # type: ignore[arg-type]
    assert "77 (2 ranks" in gaps(job.probe(host))["job.name"]
    assert "these run: 29500" in gaps(job.probe(replace(host, job="no-such")))["rank.host"]


def test_what_a_rank_starts_and_what_outlives_one_is_no_rank(tmp_path: Path) -> None:
    files = ranks(100, 10, 29500, 4)
    place = {"RANK": 1, "LOCAL_RANK": 1, "WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 4, "MASTER_PORT": 29500}
    files |= process(150, 101, place) | process(151, 150, place)  # a worker of the data loader and its child
    files |= process(160, 1, {**place, "RANK": 3, "LOCAL_RANK": 3})  # a worker of rank 3, which was killed
    files |= process(103, 10, {}, "", state="Z")
    host = host_of(tmp_path, files)
    (path := tmp_path / "proc/103/environ").write_text("")
    assert path.exists() and pids(host) == [100, 101, 102]
    assert ranks_here(host).jobs[0].missing == (3,)
    assert known(job.probe(host))["job.ranks_missing", "job"] == (3,)


def test_two_containers_may_use_one_port(tmp_path: Path) -> None:
    host = host_of(tmp_path, ranks(100, 10, 29500, 2) | ranks(200, 20, 29500, 2))
    assert [[rank.pid for rank in one.ranks] for one in ranks_here(host).jobs] == [[100, 101], [200, 201]]


def test_a_place_that_slurm_tells_makes_no_rank_of_a_shell_or_a_notebook(tmp_path: Path) -> None:
    told = {"SLURM_PROCID": 0, "SLURM_NTASKS": 2, "SLURM_LOCALID": 0, "SLURM_JOB_ID": 5}
    files = process(50, 9, told, "bash run.sh") | process(51, 50, told, "python -m ipykernel_launcher")
    files |= process(52, 9, {**told, "SLURM_PROCID": 1}, "python -m dask worker")
    files |= process(60, 9, told, "/env/bin/train", TORCH)
    assert pids(host_of(tmp_path, files)) == [60]


def test_ranks_without_any_mark_of_their_job_are_told_by_their_session(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for pid, parent in ((100, 10), (101, 10), (200, 20)):
        files |= process(pid, parent, {"RANK": pid % 100, "WORLD_SIZE": 2})
    assert [len(one.ranks) for one in ranks_here(host_of(tmp_path, files)).jobs] == [2, 1]


def test_logs_of_ranks_that_ended_are_found_in_the_folder_of_torchrun(tmp_path: Path) -> None:
    files = ranks(100, 10, 29500, 2) | launcher(10, "python torchrun --log-dir logs --redirects 3 train.py")
    files |= {"/job/logs/none_x/attempt_0/1/stderr.log": "RuntimeError: x\n", "/job/logs/none_x/attempt_0/0/a.bin": "x"}
    host = host_of(tmp_path, files)
    (tmp_path / "proc/10/cwd").symlink_to("/job")
    os.utime(tmp_path / "proc/10", (1, 1))
    assert places(job.probe(host)) == [f"{tmp_path}/job/logs/none_x/attempt_0/1/stderr.log"]


def test_folders_of_checkpoints_are_those_that_the_command_line_names(tmp_path: Path) -> None:
    command = "python train.py --save ckpt --output_dir=/data/run1 --ckpt-path --lr 1"
    host = host_of(tmp_path, process(100, 10, {"RANK": 0, "WORLD_SIZE": 1}, command))
    (tmp_path / "proc/100/cwd").symlink_to("/job")
    found = known(job.probe(host))
    assert found["job.checkpoint_folders", "job"] == ("/job/ckpt", "/data/run1")
    assert found["job.folder", "job"] == "/job"
