"""What a person gets for a folder of dumps: real ones of PyTorch where they are at hand, made ones otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from doctor.cli.main import run
from tests.probes.files.flight_recorder.dumps import world
from tests.views.test_json import valid

DATA = os.environ.get("PDOCTOR_DATA", "")
REAL = Path(DATA) / "flight_recorder"
Root: TypeAlias = tuple[str, str, list[str]]
Analyzed: TypeAlias = Callable[..., tuple[int, dict[str, Any]]]
needs_data = pytest.mark.skipif(not DATA or not REAL.is_dir(), reason="PDOCTOR_DATA names no folder with real dumps")


@pytest.fixture
def analyzed(capsys: pytest.CaptureFixture[str]) -> Analyzed:
    def analyze(*paths: Path) -> tuple[int, dict[str, Any]]:
        status = run(["analyze", *map(str, paths), "--json", "--facts"])
        return status, valid(capsys.readouterr().out)

    return analyze


def root(report: dict[str, Any]) -> Root:
    (only,) = [finding for finding in report["findings"] if finding["role"] == "root"]
    return only["rule"], only["cause"], only["entities"]


def test_made_dumps_come_out_with_culprit_proof_and_ranks(tmp_path: Path, analyzed: Analyzed) -> None:
    job = world(8)
    job.call((0, 1, 2, 4, 5, 6, 7), "all_reduce", "0", done=False, line=42)
    status, report = analyzed(job.write(tmp_path))
    assert status == 1
    assert root(report) == ("HNG023", "rank-stuck-on-cpu", ["rank:3"])
    texts = [line["text"] for line in report["findings"][0]["evidence"]]
    assert texts[0].startswith("rank 3 has no unfinished call; it came to 3 in default_pg")
    assert "ranks 0-2, 4-7 in all_reduce 4 in default_pg for rank 3" in texts[1]
    assert "/work/train.py:42 step" in texts[1]
    assert {given["kind"] for given in report["inputs"]} == {"flight_recorder"}
    assert sorted(given["rank"] for given in report["inputs"]) == list(range(8))


def test_the_proof_is_told_in_the_language_of_the_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = world(8)
    job.call((0, 1, 2, 4, 5, 6, 7), "all_reduce", "0", done=False, line=42)
    run(["analyze", str(job.write(tmp_path)), "--lang", "zh"])
    out = "".join(line.strip() for line in capsys.readouterr().out.splitlines())  # however wide the terminal is
    assert "rank 3 没有未完成的调用；它在 default_pg 中到达第 3 次" in out
    assert "ranks 0-2, 4-7 -> rank 3：default_pg 的 all_reduce 4（没有发起它）" in out
    assert "has no unfinished call" not in out


def test_what_the_logs_say_of_the_hang_folds_under_the_verdict(tmp_path: Path, analyzed: Analyzed) -> None:
    job = world()
    job.call((0, 1, 2), "all_reduce", "0", done=False)
    job.write(tmp_path)
    (tmp_path / "train.log").write_text(
        "".join(
            f"[rank{rank}]:[E ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=32, NumelOut=32, Timeout(ms)=600000) ran for 600058 "
            "milliseconds before timing out.\n"
            for rank in range(3)
        )
    )
    assert root(analyzed(tmp_path)[1]) == ("HNG023", "rank-stuck-on-cpu", ["rank:3"])


def stuck_device(folder: Path, log: str) -> Path:
    """The device of rank 4 on n3 is stuck; rank 0 runs on n1; the job's other file holds `log`."""
    job = world(8)
    job.call((4,), "all_reduce", "3", done=False)
    job.call((5,), "all_reduce", "3")
    job.call(range(8), "all_gather_base", "0", done=False)
    job.write(folder)
    for rank, host in ((0, "n1"), (4, "n3")):
        line = f"{host}:1120:1420 [{rank}] NCCL INFO comm 0x7f rank {rank} nranks 8 cudaDev {rank} busId 89000"
        (folder / f"rank{rank}.log").write_text(f"{line} - Init COMPLETE\n")
    (folder / "other.log").write_text(log)
    return folder


XID = "Nov 29 10:00:00 {} kernel: [ 9121.4] NVRM: Xid (PCI:0000:c1:00): {}, pid=1291, name=python3, {}\n"
LOST = (79, "GPU has fallen off the bus.")
FAULT = (31, "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f2a_00000000.")


@pytest.mark.parametrize(("xid", "rule"), [(LOST, "HW009"), (FAULT, "HW013")])
def test_a_failed_device_explains_the_hang_of_a_rank_on_its_node(
    xid: tuple[int, str], rule: str, tmp_path: Path, analyzed: Analyzed
) -> None:
    assert root(analyzed(stuck_device(tmp_path, XID.format("n3", *xid)))[1])[0] == rule


@pytest.mark.parametrize(("xid", "rule"), [(LOST, "HW009"), (FAULT, "HW013")])
def test_a_failed_device_of_another_node_explains_nothing_of_it(
    xid: tuple[int, str], rule: str, tmp_path: Path, analyzed: Analyzed
) -> None:
    findings = analyzed(stuck_device(tmp_path, XID.format("n1", *xid)))[1]["findings"]
    assert {one["rule"] for one in findings if one["role"] == "root"} == {"HNG024", rule}


@pytest.mark.parametrize(("rank", "roots"), [(4, {"HW013"}), (0, {"HNG024", "HW013"})])
def test_an_illegal_access_explains_the_hang_of_its_own_rank_only(
    rank: int, roots: set[str], tmp_path: Path, analyzed: Analyzed
) -> None:
    log = f"[rank{rank}]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
    findings = analyzed(stuck_device(tmp_path, log))[1]["findings"]
    assert {one["rule"] for one in findings if one["role"] == "root"} == roots


def test_dumps_in_which_all_is_over_are_healthy(tmp_path: Path, analyzed: Analyzed) -> None:
    status, report = analyzed(world().write(tmp_path))
    assert (status, report["verdict"], report["findings"]) == (0, "healthy", [])


def test_uneven_all_to_alls_are_a_load_and_no_hang(tmp_path: Path, analyzed: Analyzed) -> None:
    job = world()
    for rank, got in enumerate((100, 100, 100, 500)):
        job.call((rank,), "all_to_all", "0", sizes=((200, 8),), out=((got, 8),))
    _, report = analyzed(job.write(tmp_path))
    assert {finding["cause"] for finding in report["findings"]} == {"moe-load-imbalance"}


@needs_data
@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("gpu_error_1st", ("HNG024", "rank-stuck-on-gpu", ["rank:12", "rank:14"])),
        ("lock_gil_1st", ("HNG023", "rank-stuck-on-cpu", ["rank:9", "rank:14"])),
    ],
)
def test_faults_injected_into_a_real_job(folder: str, expected: Root, analyzed: Analyzed) -> None:
    assert root(analyzed(REAL / "nccl_real" / folder)[1]) == expected


@needs_data
@pytest.mark.parametrize("form", ["comm_lib_trace_rank_", "fr_rank_"])
@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("missing_rank", ("HNG023", "rank-stuck-on-cpu", ["rank:2"])),
        ("order_swap", ("HNG022", "collective-order-mismatch", ["rank:0"])),
        ("type_mismatch", ("HNG020", "collective-order-mismatch", ["rank:3"])),
        ("alltoall_imbalance", ("HNG026", "collective-shape-mismatch", ["rank:1"])),
    ],
)
def test_dumps_of_pytorch_over_gloo(form: str, folder: str, expected: Root, analyzed: Analyzed) -> None:
    paths = sorted((REAL / "gloo_torch2.13" / folder).glob(f"{form}*"))
    assert len(paths) == 4
    assert root(analyzed(*paths)[1]) == expected


@needs_data
def test_a_real_healthy_job_is_healthy(analyzed: Analyzed) -> None:
    status, report = analyzed(REAL / "gloo_torch2.13" / "ok")
    assert (status, report["verdict"]) == (0, "healthy")
