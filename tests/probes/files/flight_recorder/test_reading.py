from __future__ import annotations

import gzip
import json
import os
import pickle
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.facts.model import Value
from probes.files.flight_recorder import DumpsReading, is_dump, read_dumps
from tests.probes.files.flight_recorder.dumps import Job, world


def read(folder: Path) -> DumpsReading:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return read_dumps([(path, str(path.relative_to(folder))) for path in files if is_dump(path)])


def fact(reading: DumpsReading, name: str, entity: str = "job") -> Value | None:
    return next((f.value for f in reading.facts if (f.name, f.entity) == (name, entity)), None)


def hung(backend: str = "nccl") -> Job:
    job = world(backend=backend)
    job.call((0, 1, 3), "all_reduce", "0", done=False, line=42)
    return job


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("backend", ["nccl", "gloo", "rccl", "hccl", "xccl", "nccl2"])
def test_any_backend_as_pickle_or_json(tmp_path: Path, backend: str, as_json: bool) -> None:
    reading = read(hung(backend).write(tmp_path, as_json=as_json))
    assert fact(reading, "fr.verdict") == "stuck-on-cpu"
    assert fact(reading, "fr.culprits") == (2,)
    assert fact(reading, "fr.backends") == (backend,)
    assert fact(reading, "fr.waits_for", "rank:0") == (2,)
    assert not reading.warnings


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.3", "2.4", "2.7", "2.8", "2.9", "2.10"])
def test_known_versions_are_read_without_remark(tmp_path: Path, version: str) -> None:
    job = hung()
    job.version = version
    assert not read(job.write(tmp_path)).warnings


def test_newer_and_mixed_versions_are_read_with_a_remark(tmp_path: Path) -> None:
    job = hung()
    job.version = "2.11"
    assert "newer than 2.10" in read(job.write(tmp_path)).warnings["nccl_trace_rank_0"][0]
    job.version = "2.9"
    job.write(tmp_path, leave_out=[0])
    reading = read(tmp_path)
    assert fact(reading, "fr.culprits") == (2,)
    assert any("several versions (2.11, 2.9)" in text for texts in reading.warnings.values() for text in texts)


def test_the_early_format_without_groups_and_status(tmp_path: Path) -> None:
    job = hung()
    for entries in job.entries.values():
        for entry in entries:
            entry["seq_id"] = entry.pop("collective_seq_id")
            for key in ("p2p_seq_id", "is_p2p", "process_group", "op_id", "timeout_ms"):
                del entry[key]
    for rank in job.entries:
        (tmp_path / f"trace_{rank}").write_bytes(pickle.dumps({"version": "2.0", "entries": job.entries[rank]}, 2))
    assert fact(read(tmp_path), "fr.culprits") == (2,)


def test_an_active_only_dump_of_a_rank_with_nothing_to_tell(tmp_path: Path) -> None:
    job = hung()
    for rank, entries in job.entries.items():
        status = {
            str(number): {"last_enqueued_collective": 3, "last_started_collective": -1, "last_completed_collective": 3}
            for number in range(2)
        }
        document = job.document(rank) | {"pg_status": status, "entries": [e for e in entries if not e["retired"]]}
        (tmp_path / f"_dump_{rank}").write_bytes(pickle.dumps(document, 2))
    reading = read(tmp_path)
    assert fact(reading, "fr.culprits") == (2,)
    assert fact(reading, "fr.last_done", "rank:2") == ("default_pg 3", "tp 3")


@pytest.mark.parametrize(
    "name",
    ["/tmp/nccl_trace_rank_", "comm_lib_trace_rank_", "_dump_", "fr", "job7-node2.rank-", "a/b/rank_", "dump.r"],
)
def test_the_rank_is_the_number_that_ends_the_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / Path(name.lstrip("/")).parent
    reading = read_dumps(
        [(p, str(p)) for p in sorted(hung().write(folder, name=Path(name).name).iterdir()) if is_dump(p)]
    )
    assert fact(reading, "fr.culprits") == (2,)


def test_the_rank_from_the_groups_where_the_name_has_none(tmp_path: Path) -> None:
    job = hung()
    job.groups = {**job.groups, **{f"9{rank}": ("expert_dp", (rank,)) for rank in range(4)}}
    for rank, name in enumerate("abcd"):
        (tmp_path / f"dump-{name}").write_bytes(pickle.dumps(job.document(rank), 2))
    assert fact(read(tmp_path), "fr.culprits") == (2,)
    (tmp_path / "dump-e").write_bytes(pickle.dumps(hung().document(0), 2))
    assert "was left out" in read(tmp_path).warnings["dump-e"][0]


def test_one_moment_written_twice_is_judged_once_with_its_stacks(tmp_path: Path) -> None:
    job = hung()
    job.write(tmp_path, name="fr_rank_", as_json=True)
    reading = read(job.write(tmp_path))
    assert fact(reading, "fr.frame", "rank:0") == "/work/train.py:42 step"
    assert not reading.warnings


def test_of_several_attempts_the_last_is_judged(tmp_path: Path) -> None:
    hung().write(tmp_path / "attempt_0")
    later = world()
    later.call((1, 2, 3), "all_reduce", "0", done=False, at=3600)
    later.write(tmp_path / "attempt_1")
    reading = read(tmp_path)
    assert fact(reading, "fr.culprits") == (0,)
    assert "an earlier moment" in reading.warnings["attempt_0/nccl_trace_rank_0"][0]


def test_a_folder_for_each_node_is_one_moment(tmp_path: Path) -> None:
    hung().write(tmp_path / "node0", leave_out=[2, 3])
    hung().write(tmp_path / "node1", leave_out=[0, 1])
    assert fact(read(tmp_path), "fr.files") == 4


def test_packed_dumps_are_read(tmp_path: Path) -> None:
    hung().write(tmp_path)
    for path in list(tmp_path.iterdir()):
        (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert fact(read(tmp_path), "fr.culprits") == (2,)


class Runs:
    """A pickle of it would make a folder when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_would_run_code_is_refused_and_nothing_runs(tmp_path: Path, protocol: int) -> None:
    hung().write(tmp_path)
    bad = {"version": "2.9", "pg_config": {}, "entries": [{"profiling_name": Runs(tmp_path / "made")}]}
    (tmp_path / "nccl_trace_rank_1").write_bytes(pickle.dumps(bad, protocol))
    reading = read(tmp_path)
    assert not (tmp_path / "made").exists()
    assert "mkdir" in reading.warnings["nccl_trace_rank_1"][0]
    assert fact(reading, "fr.culprits") == (2,), "the other ranks are judged"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to a limit of memory")
def test_a_pickle_of_a_few_bytes_gets_no_table_of_gigabytes(tmp_path: Path) -> None:
    hung().write(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_AS)
    put = b"r" + (160 << 20).to_bytes(4, "little")  # keep this under the number 160 million
    (tmp_path / "nccl_trace_rank_1").write_bytes(b"\x80\x02}X\x09\x00\x00\x00pg_config}" + put + b"s.")
    reading = read(tmp_path)
    assert "beyond any dump" in reading.warnings["nccl_trace_rank_1"][0]
    assert fact(reading, "fr.culprits") == (2,)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_damaged_dumps_cost_one_line_each(tmp_path: Path) -> None:
    job = hung()
    job.write(tmp_path, leave_out=[1, 3])
    cut = pickle.dumps(job.document(3), 2)
    (tmp_path / "nccl_trace_rank_3").write_bytes(cut[: len(cut) // 2])
    text = json.dumps({"version": "2.9", "pg_status": {}, "entries": []})
    (tmp_path / "nccl_trace_rank_5.json").write_text(text[:-5])
    (tmp_path / "nccl_trace_rank_6").write_bytes(pickle.dumps(["pg_config"], 2))
    reading = read(tmp_path)
    assert {len(texts) for texts in reading.warnings.values()} == {1}
    assert sorted(reading.warnings) == ["nccl_trace_rank_3", "nccl_trace_rank_5.json", "nccl_trace_rank_6"]


@pytest.mark.parametrize(
    "change",
    [
        {"collective_seq_id": None},
        {"collective_seq_id": 10**400},
        {"collective_seq_id": float("nan")},
        {"process_group": None},
        {"process_group": []},
        {"process_group": "0"},
        {"profiling_name": None},
        {"profiling_name": "x" * 10**6},
        {"profiling_name": "nccl:send 7->999999999"},
        {"input_sizes": [[-1, 2**80]]},
        {"input_sizes": "many"},
        {"input_dtypes": [None]},
        {"frames": [None, {"filename": 3}]},
        {"state": 17},
        {"record_id": "first"},
    ],
)
def test_strange_values_end_nothing(tmp_path: Path, change: dict[str, Any]) -> None:
    job = hung()
    for entry in job.entries[1]:
        entry.update(change)
    reading = read(job.write(tmp_path))
    assert fact(reading, "fr.files") == 4
    assert not reading.warnings


def test_values_nested_beyond_measure_are_not_followed(tmp_path: Path) -> None:
    job = hung()
    nested: Any = (1,)
    for _ in range(60):
        nested = (nested, nested)
    for entry in job.entries[1]:
        entry["input_sizes"] = nested
        entry["frames"] = nested
    assert fact(read(job.write(tmp_path)), "fr.files") == 4


def test_other_files_are_no_dumps(tmp_path: Path) -> None:
    trace = {"schemaVersion": 1, "distributedInfo": {"pg_config": []}, "traceEvents": []}
    for name, data in {
        "trace.json": json.dumps(trace).encode(),
        "state.pt": pickle.dumps({"model": [1, 2]}),
        "log.txt": b"flight recorder: collective_seq_id 3",
        "empty": b"",
    }.items():
        (tmp_path / name).write_bytes(data)
        assert not is_dump(tmp_path / name), name


def test_gloo_dumps_without_anything_open_say_what_they_cannot_show(tmp_path: Path) -> None:
    reading = read(world(backend="gloo").write(tmp_path))
    assert fact(reading, "fr.verdict") == "ok"
    assert [text for texts in reading.warnings.values() for text in texts if "no send or receive" in text]


def test_all_to_alls_show_the_load_of_the_ranks(tmp_path: Path) -> None:
    job = world()
    for rank, got in enumerate((100, 100, 100, 500)):
        job.call((rank,), "all_to_all", "0", sizes=((200, 8),), out=((got, 8),))
        job.call((rank,), "all_to_all", "0", sizes=((got, 8),), out=((200, 8),))
    reading = read(job.write(tmp_path))
    assert fact(reading, "fr.verdict") == "ok"
    assert fact(reading, "experts.alltoall_max_over_mean") == 2.5
    assert fact(reading, "experts.alltoall_elements", "rank:3") == 8000
    assert fact(reading, "moe.tokens_per_rank_max_over_mean") == 2.5


def test_one_list_in_many_places_is_looked_at_once(tmp_path: Path) -> None:
    job = hung()
    many = [[4, 8]] * 4000
    entry = {**job.entries[1][-1], "input_sizes": many, "output_sizes": [[4] * 100_000]}
    job.entries[1] += [entry] * 20_000
    path = job.write(tmp_path)
    assert (path / "nccl_trace_rank_1").stat().st_size < 1 << 20
    assert fact(read(path), "fr.files") == 4


@pytest.mark.parametrize("ranks", ["[0, 999999999]", str(list(range(200_000)))])
def test_groups_of_more_ranks_than_there_are_end_nothing(ranks: str, tmp_path: Path) -> None:
    document = hung().document(1)
    document["pg_config"] = {str(n): {"name": str(n), "desc": "tp", "ranks": ranks} for n in range(500)}
    (tmp_path / "nccl_trace_rank_1").write_bytes(pickle.dumps(document, protocol=2))
    reading = read(tmp_path)
    assert fact(reading, "fr.files") == 1
    assert len(reading.facts) < 5_000
