"""What slow workers cost, on steps that a small scheduler makes, and on a real job."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from doctor.facts.model import Value
from probes.files.what_if import is_what_if, read_what_if
from probes.files.what_if.answer import Answer, answer
from probes.files.what_if.model import steps_of
from probes.files.what_if.simulate import Stuck
from tests.views.test_json import valid

DATA = os.environ.get("PDOCTOR_DATA", "")
REAL = Path(DATA) / "what_if" / "trace-AR.parquet"
HEADING = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "mb_id")
F, B = 1.0, 2.0
Slow = Mapping[tuple[int, int], float]


def job(slow: Slow, pipelines: int = 2, stages: int = 3, micro: int = 6, steps: int = 3) -> list[tuple[Any, ...]]:
    """Rows of a 1F1B schedule, with waiting in the receives as profilers record it."""
    rows: list[tuple[Any, ...]] = []
    for step in range(steps):
        ended: dict[tuple[int, int], float] = {}
        for pipe in range(pipelines):
            orders = {}
            for stage in range(stages):
                ahead = min(stages - stage, micro)
                order = [("F", m) for m in range(ahead)]
                for m in range(micro):
                    order.append(("B", m))
                    if ahead + m < micro:
                        order.append(("F", ahead + m))
                orders[stage] = order
            done: dict[tuple[str, int, int], float] = {}
            clock = dict.fromkeys(range(stages), 0.0)
            place = dict.fromkeys(range(stages), 0)
            while any(place[s] < len(orders[s]) for s in range(stages)):
                for stage in range(stages):
                    while place[stage] < len(orders[stage]):
                        kind, m = orders[stage][place[stage]]
                        before = stage - 1 if kind == "F" else stage + 1
                        inside = 0 <= before < stages
                        if inside and (kind, before, m) not in done:
                            break
                        start = max(clock[stage], done[kind, before, m] if inside else 0.0)
                        length = (F if kind == "F" else B) * slow.get((pipe, stage), 1.0)
                        name = "forward-compute" if kind == "F" else "backward-compute"
                        rows.append((pipe, stage, pipe * stages + stage, step, name, start, length, m, 0, m))
                        clock[stage] = done[kind, stage, m] = start + length
                        place[stage] += 1
            ended |= {(pipe, stage): clock[stage] for stage in range(stages)}
        for stage in range(stages):
            end = max(ended[pipe, stage] for pipe in range(pipelines)) + 0.5
            for pipe in range(pipelines):
                began = ended[pipe, stage]
                rank = pipe * stages + stage
                rows.append((pipe, stage, rank, step, "grads-reduce-scatter", began, end - began, 0, 0, -1))
    return rows


def columns(rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(HEADING, map(list, zip(*rows, strict=True)), strict=True))


def answered(slow: Slow, pipelines: int = 2) -> Answer:
    found = answer(steps_of(columns(job(slow, pipelines))))
    assert found is not None
    return found


def written(path: Path, rows: Sequence[tuple[Any, ...]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEADING, *rows])
    return path


def told(path: Path) -> dict[tuple[str, str], Value]:
    return {(fact.entity, fact.name): fact.value for fact in read_what_if([(path, path.name)]).facts}


def test_equal_workers_lose_nothing() -> None:
    found = answered({})
    assert found.slowdown == pytest.approx(1.0)
    assert found.ideal == pytest.approx(found.observed) == pytest.approx((6 + 2) * (F + B) + 0.5)
    assert found.gains == {}


def test_a_slow_worker_is_found_with_what_it_costs() -> None:
    found = answered({(1, 2): 2.0})
    assert max(found.compute, key=lambda worker: found.compute[worker]) == (1, 2)
    assert found.gains[1, 2] == pytest.approx(1.0)
    # six micro-batches at twice the pace, and the way there and back over two stages of usual pace
    assert found.observed == pytest.approx(6 * 2 * (F + B) + 2 * (F + B) + 0.5)
    assert found.slowdown == pytest.approx(found.observed / found.ideal)


def test_of_two_slow_workers_neither_alone_brings_all_back() -> None:
    found = answered({(0, 0): 2.0, (1, 2): 2.0}, pipelines=4)
    assert set(found.gains) == {(0, 0), (1, 2)}
    assert max(found.gains.values()) < 0.3
    assert found.together == pytest.approx(1.0)


def test_noise_is_no_straggler() -> None:
    rows = job({})
    chance = random.Random(7)
    noisy = [(*row[:6], row[6] * chance.uniform(0.98, 1.02), *row[7:]) for row in rows]
    found = answer(steps_of(columns(noisy)))
    assert found is not None
    assert found.gains == {}
    assert found.slowdown < 1.05


def test_a_table_in_csv_names_the_slow_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "ops.csv", job({(0, 1): 1.8}, pipelines=3))
    assert is_what_if(path)
    assert told(path)["rank:1", "trace.what_if_compute_ratio"] == pytest.approx(1.8)
    run(["analyze", str(path), "--json"])
    report = valid(capsys.readouterr().out)
    findings: Any = report["findings"]
    assert [(f["cause"], f["entities"]) for f in findings if f["role"] == "root"] == [("straggler-hw", ["rank:1"])]


def test_rows_without_sense_are_left_out(tmp_path: Path) -> None:
    bad = [(0, 0, 0, 0, "forward-compute", float("nan"), 1, 9, 0, 9), ("x", 0, 0, 0, "gc", 0, 1, 0, 0, 0)]
    bad.append((0, 0, 0, 0, "gc", 0.0, -1.0, 0, 0, 0))
    path = written(tmp_path / "ops.csv", [*job({}), *bad])
    assert told(path)["job", "trace.what_if_slowdown"] == pytest.approx(1.0)
    assert "3 rows have no number" in read_what_if([(path, "ops.csv")]).warnings["ops.csv"][0]


def test_missing_rows_are_said_and_nothing_is_guessed(tmp_path: Path) -> None:
    path = written(tmp_path / "ops.csv", [row for row in job({}) if row[1] != 1])
    assert told(path) == {}
    assert "are not in the table" in read_what_if([(path, "ops.csv")]).warnings["ops.csv"][0]
    with pytest.raises(Stuck):
        answer(steps_of(columns([row for row in job({}) if row[1] != 1])))


def test_other_tables_are_none(tmp_path: Path) -> None:
    for name, text in (("a.csv", "step,loss\n1,2\n"), ("b.txt", ""), ("c.parquet", "PAR1xxxxPAR1")):
        (tmp_path / name).write_text(text)
        assert not is_what_if(tmp_path / name)


@pytest.mark.skipif(not DATA or not REAL.exists(), reason="PDOCTOR_DATA names no folder with a real job")
def test_a_real_job_of_64_gpus_with_one_slow_worker() -> None:
    pytest.importorskip("pyarrow")
    assert is_what_if(REAL)
    facts = told(REAL)
    assert facts["job", "trace.what_if_slowdown"] == pytest.approx(1.973, abs=0.05)
    gains = {entity: value for (entity, name), value in facts.items() if name == "trace.what_if_gain"}
    assert list(gains) == ["rank:0"]


def test_without_pyarrow_parquet_is_said_to_need_it(tmp_path: Path) -> None:
    if not DATA or not REAL.exists():
        pytest.skip("PDOCTOR_DATA names no folder with a real job")
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        assert "pip install 'pdoctor[parquet]'" in read_what_if([(REAL, "x")]).warnings["x"][0]
