"""What recordings tell: of one rank and of several, cut off, of several attempts, damaged and hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts.model import Value
from doctor.rulebase.load import load_rulebase
from probes.files.expert_loads import is_loads
from probes.files.recording import RecordingReading, is_recording, read_recordings

GIB, MIB = 1 << 30, 1 << 20


def head(rank: int = 0, **more: Any) -> dict[str, Any]:
    told = {"pdoctor_recording": 1, "rank": rank, "world_size": 4, "host": "node-a", "pid": 100 + rank, "at": 10.0}
    return {**told, "wrapped": ["ddp"], "parameters": 1000, **more}


def step(number: int, seconds: float = 0.5, **more: Any) -> dict[str, Any]:
    return {"record": "step", "step": number, "at": float(number), "seconds": seconds, **more}


def write(path: Path, *lines: dict[str, Any], tail: str = "") -> tuple[Path, str]:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail)
    return path, path.name


def facts(reading: RecordingReading) -> dict[tuple[str, str], Value]:
    return {(fact.entity, fact.name): fact.value for fact in reading.facts}


def test_steps_waits_and_passes_of_one_rank(tmp_path: Path) -> None:
    steps = [step(n, 0.5, data=0.2, between=0.25, passes=4, syncs=4) for n in range(20)]
    file = write(tmp_path / "rank0.jsonl", head(local_rank=0), *steps, {"record": "end", "steps": 20})
    assert is_recording(file[0])
    reading = read_recordings([file])
    told = facts(reading)
    assert not reading.warnings and reading.ranks == {"rank0.jsonl": 0}
    assert told["job", "run.step_time"] == 0.5 and told["job", "run.steps"] == 20
    assert told["job", "run.data_share"] == pytest.approx(0.4)
    assert told["job", "config.grad_accum"] == 4 and told["job", "run.reduced_while_accumulating"] == 1
    assert told["rank:0", "rank.host"] == "node-a" and told["rank:0", "recording.between_share"] == pytest.approx(0.5)


def test_every_fact_is_in_the_catalogue(tmp_path: Path) -> None:
    device = {"index": 1, "visible": "4,5", "name": "GPU", "memory": 80 * GIB, "bus": "00000000:3B:00.0"}
    groups = {"tp": [2, 0], "pp": [2, 1], "dp": [1, 0]}
    memory = {"allocated": GIB, "allocated_peak": 2 * GIB, "reserved": 2 * GIB, "reserved_peak": 3 * GIB}
    memory |= {"inactive_split": MIB, "retries": 2, "ooms": 1}
    held = {"record": "held", "step": 2, "parameters": {"cuda": 8}, "gradients": {"cuda": 8}, "optimizer": {"cpu": 9}}
    loads = {"record": "experts", "step": 0, "layer": "1", "tokens_per_expert": [5000.0, 10.0, 10.0, 10.0]}
    steps = [step(n, passes=2, syncs=1, data=0.1, data_device=0.0, **memory) for n in range(40)]
    lines = (head(device=device, groups=groups, zero_stage=1), *steps, held, loads)
    reading = read_recordings([write(tmp_path / "a.jsonl", *lines)])
    told, catalogue = facts(reading), load_rulebase().base.catalogue
    assert {name for _, name in told} <= set(catalogue)
    assert told["rank:0", "recording.device_index"] == 5
    assert told["rank:0", "recording.stage"] == 1 and told["job", "config.tp"] == 2
    assert told["rank:0", "recording.held_elsewhere"] == 9 and ("rank:0", "recording.held_optimizer") not in told
    assert told["job", "run.alloc_retries"] == 2
    assert told["job", "run.memory_share"] == pytest.approx(3 / 80)
    assert told["job", "experts.worst_layer"] == "1"


def test_waits_that_the_gpu_did_not_feel_are_none(tmp_path: Path) -> None:
    steps = [step(n, 0.5, data=0.3, data_device=0.001) for n in range(20)]
    told = facts(read_recordings([write(tmp_path / "a.jsonl", head(), *steps)]))
    assert told["job", "run.data_share"] == pytest.approx(0.002)


def test_the_rank_that_waits_longest_counts(tmp_path: Path) -> None:
    files = [
        write(
            tmp_path / f"{rank}.jsonl", head(rank), *[step(n, 0.5, data=0.4 if rank == 2 else 0.01) for n in range(20)]
        )
        for rank in range(4)
    ]
    reading = read_recordings(files)
    assert facts(reading)["job", "run.data_share"] == pytest.approx(0.8)
    (source,) = [fact.source for fact in reading.facts if fact.name == "run.data_share"]
    assert source.path == "2.jsonl" and "rank 2" in source.text


@pytest.mark.parametrize(
    ("wrapped", "passes", "syncs", "world", "told"),
    [
        (["ddp"], 4, 1, 4, 0.0),
        (["ddp"], 4, 4, 4, 1.0),
        (["megatron"], 4, 4, 4, 1.0),
        (["fsdp2"], 4, 4, 4, None),  # sharded gradients are reduced in each pass by design
        (["deepspeed"], 4, 4, 4, None),
        (["ddp"], 1, 1, 4, None),  # nothing is accumulated
        (["ddp"], 4, 4, 1, None),  # and nobody is there to reduce with
        (["none"], 4, None, 4, None),
    ],
)
def test_reductions_that_accumulation_should_save(
    wrapped: list[str], passes: int, syncs: int | None, world: int, told: float | None, tmp_path: Path
) -> None:
    steps = [step(n, passes=passes, syncs=syncs) for n in range(20)]
    file = write(tmp_path / "a.jsonl", head(wrapped=wrapped, world_size=world), *steps)
    assert facts(read_recordings([file])).get(("job", "run.reduced_while_accumulating")) == told


@pytest.mark.parametrize(
    ("course", "grows"),
    [
        (lambda n: 10 * GIB + 20 * MIB * n, True),
        (lambda n: 10 * GIB + (3 * GIB if n > 5 else 0), False),  # once, and then it stays
        (lambda n: 10 * GIB + MIB * (n % 7) * 400, False),  # up and down with the length of the batches
        (lambda n: 10 * GIB + 20 * MIB * n + 900 * MIB * (n % 5), True),  # a leak beneath such batches
        (lambda n: 10 * GIB - 5 * MIB * n, False),
    ],
)
def test_memory_that_grows(course: Any, grows: bool, tmp_path: Path) -> None:
    steps = [step(n, allocated=course(n), reserved=40 * GIB) for n in range(200)]
    told = facts(read_recordings([write(tmp_path / "a.jsonl", head(), *steps)]))
    assert told["job", "mem.grows"] is grows
    if grows:
        assert told["job", "mem.growth_per_step"] == pytest.approx(20 * MIB, rel=0.2)


def test_a_last_line_that_was_cut_costs_nothing(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", head(), *[step(n) for n in range(12)], tail='{"record":"step","st')
    reading = read_recordings([file])
    assert facts(reading)["job", "run.steps"] == 12 and not reading.warnings


def test_the_last_attempt_that_trained_is_told(tmp_path: Path) -> None:
    first, second = [step(n, 9.0) for n in range(12)], [step(n, 0.5) for n in range(10)]
    reading = read_recordings([write(tmp_path / "a.jsonl", head(), *first, head(at=20.0), *second, head(at=30.0))])
    assert facts(reading)["job", "run.step_time"] == 0.5
    assert "3 attempts" in reading.warnings["a.jsonl"][0]


def test_of_two_files_of_a_rank_the_later_is_told(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", head(at=1.0), *[step(n, 9.0) for n in range(12)])
    new = write(tmp_path / "new.jsonl", head(at=2.0), *[step(n, 0.5) for n in range(12)])
    reading = read_recordings([new, old])
    assert facts(reading)["job", "run.step_time"] == 0.5 and "left out" in reading.warnings["old.jsonl"][0]


def test_damaged_lines_are_left_out_and_told(tmp_path: Path) -> None:
    good = [json.dumps(step(n)) for n in range(12)]
    bad = [
        '{"record":"step","step":1e400,"seconds":1}',
        '{"record":"step","step":3,"seconds":-1}',
        '{"record":"step","step":3,"seconds":"much"}',
        '{"record":"step","step":3,"seconds":1,"allocated":-5}',
        "[" * 100_000,
        "\0\0\0\0",
        '{"record":"experts","step":1,"layer":"0","tokens_per_expert":[1e300,2]}',
        "x" * (3 << 20),
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([json.dumps(head()), *good[:6], *bad, *good[6:]]) + "\n")
    reading = read_recordings([(path, "a.jsonl")])
    assert facts(reading)["job", "run.steps"] == 12
    assert "lines are damaged" in reading.warnings["a.jsonl"][0] and "line 8" in reading.warnings["a.jsonl"][0]


def test_a_recorder_that_switched_itself_off_says_why(tmp_path: Path) -> None:
    lines = (head(), step(0), {"record": "off", "why": "OSError: no space"}, {"record": "lost", "lines": 7})
    said = " ".join(read_recordings([write(tmp_path / "a.jsonl", *lines)]).warnings["a.jsonl"])
    assert "OSError: no space" in said and "7 lines were lost" in said


def test_a_recording_without_steps_says_so(tmp_path: Path) -> None:
    reading = read_recordings([write(tmp_path / "a.jsonl", head())])
    assert "holds no step" in reading.warnings["a.jsonl"][0]


def test_other_files_are_none(tmp_path: Path) -> None:
    for text in (
        '{"step": 1, "tokens_per_expert": [1, 2, 3]}\n',
        "",
        "pdoctor_recording",
        '{"a": 1}\n{"pdoctor_recording":1}',
    ):
        path = tmp_path / "other"
        path.write_text(text)
        assert not is_recording(path)
    file = write(tmp_path / "a.jsonl", head(), step(0), {"record": "experts", "step": 0, "tokens_per_expert": [1, 2]})
    assert is_recording(file[0]) and not is_recording(tmp_path)
    assert isinstance(is_loads(file[0]), bool)  # whatever it says, recordings are asked for first


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_break_it(parts: list[bytes]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(json.dumps(head()).encode() + b"\n" + b"\n".join(parts))
        read_recordings([(path, "a.jsonl")])
