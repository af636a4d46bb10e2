"""Of each kind of input a bundle gives the findings and facts that the files gave, and nothing that was planted in them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import analyze_paths
from doctor.session.bundle_writer import write_bundle
from doctor.session.report import Report
from tests.probes.files.flight_recorder.dumps import world
from tests.probes.files.memory_snapshot.snapshots import snapshot, trained, write
from tests.probes.files.nsys.test_nsys import GEMM, PID, export
from tests.probes.files.recording.test_recording import head, step
from tests.probes.files.recording.test_recording import write as recorded
from tests.probes.files.stacks.test_stacks import LOADS, WAITS, dump
from tests.probes.files.trace.samples import trace, written
from tests.probes.node.gpus import pdoctor, table
from tests.probes.secrets.planted import PLANTED
from tests.session.test_traces import host_bound

TOKEN = PLANTED["github"][1]
SAMPLE = Path(__file__).parents[2] / "fixtures/sample/job"


def logs(folder: Path) -> None:
    for path in SAMPLE.rglob("*"):
        if path.is_file():
            (folder / path.relative_to(SAMPLE)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(SAMPLE)).write_bytes(path.read_bytes())


def traces(folder: Path) -> None:
    for rank in range(2):
        written(folder / f"trace_{rank}.json", trace(host_bound(rank), rank, 2, host_name="acme-h100-07"))


def recorder(folder: Path) -> None:
    job = world()
    job.call((0, 1, 2), "all_reduce", "0", done=False)
    job.write(folder / "fr")


def snapshots(folder: Path) -> None:
    write(folder / "snapshot_rank0.pickle", snapshot(trained(3)))


def loads(folder: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"layer": n, "tokens_per_expert": [4000, 10, 10, 10, 10, 10, 10, 10], "run": TOKEN} for n in range(4)
    ]
    (folder / "loads.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def configs(folder: Path) -> None:
    (folder / "train.yaml").write_text(
        f"tensor_model_parallel_size: 16\nnum_gpus_per_node: 8\nmicro_batch_size: 1\nhub_token: {TOKEN}\n"
    )
    (folder / "ds_config.json").write_text(json.dumps({"zero_optimization": {"stage": 3}, "hub_token": TOKEN}))


def exports(folder: Path) -> None:
    export(folder / "profile.sqlite", [(0, 100, 0, PID, GEMM)])


def recordings(folder: Path) -> None:
    steps = [step(n, 0.5, data=0.4, between=0.45) for n in range(60)]
    recorded(folder / "rank0.jsonl", head(local_rank=0), *steps, {"record": "end", "steps": 60})


def stacks(folder: Path) -> None:
    for rank in range(4):
        (folder / f"rank{rank}.txt").write_text(dump(100 + rank, LOADS if rank == 2 else WAITS))


def told(report: Report) -> tuple[object, ...]:
    diagnosis = report.diagnosis
    roots = [(root.rule.id, root.role, round(root.belief, 6), root.entities) for root in diagnosis.roots]
    return diagnosis.verdict, roots, sorted((given.path, given.kind, given.rank) for given in report.inputs)


def facts(report: Report) -> list[tuple[str, str, str]]:
    return sorted((fact.name, fact.entity, repr(fact.value)) for fact in report.store.facts())


@pytest.mark.parametrize(
    "make",
    [logs, traces, recorder, snapshots, loads, configs, exports, recordings, stacks],
    ids=lambda f: str(f.__name__),
)
def test_a_bundle_says_what_the_files_say(make: Callable[[Path], None], tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    make(job)
    done = write_bundle(str(tmp_path / "b.tar.zst"), [str(job)], load_rulebase().base, keep_hosts=True)
    there, here = analyze_paths([tmp_path / "b.tar.zst"]), analyze_paths([job])
    assert told(there) == told(here) and len(facts(here)) > 2
    assert [fact for fact in facts(there) if TOKEN not in fact[2]] == [f for f in facts(here) if TOKEN not in f[2]]
    assert not done.left_out
    plain = b"".join(zstandard.ZstdDecompressor().read_to_iter((tmp_path / "b.tar.zst").open("rb")))
    assert b"manifest.json" in plain and TOKEN.encode() not in plain


def test_of_a_node_with_gpus(tmp_path: Path) -> None:
    values = table(tmp_path, gpus={3: {"throttle": "64", "temperature": "91", "use": "99", "clock": "900"}})
    target = tmp_path / "b.tar.zst"
    status, shown = pdoctor("collect", "--no-files", "--keep-hosts", "-o", str(target), values=values)
    assert status == 0 and "facts of" in shown
    _, live = pdoctor("run", "--json", "--no-input", values=values)
    report = analyze_paths([target])
    here = {finding["rule"] for finding in json.loads(live)["findings"]}
    assert {root.rule.id for root in report.diagnosis.roots} == here and here
    renamed = tmp_path / "r.tar.zst"
    pdoctor("collect", "--no-files", "-o", str(renamed), values=values)
    assert {root.rule.id for root in analyze_paths([renamed]).diagnosis.roots} == here
    assert report.store.get("gpu.temperature", f"gpu:{socket.gethostname()}/3")
