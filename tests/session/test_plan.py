"""A report whose remedies change settings says what they would do."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from doctor.session.analyze import analyze_paths
from doctor.views.json import as_data
from tests.reports import text

OOM = (
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
    "79.10 GiB of which 512.00 MiB is free. Process 1 has 78.60 GiB memory in use. Of the allocated memory 76.00 GiB is "
    "allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated.\n"
)
FLAGS = (
    "torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel "
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --swiglu --vocab-size 32000 "
    "--seq-length 8192 --max-position-embeddings 8192 --use-distributed-optimizer --micro-batch-size 4 "
    "--global-batch-size 256 --bf16\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "train.sh").write_text(FLAGS)
    return tmp_path


def test_the_remedy_of_a_shortage_has_its_memory_before_and_after(folder: Path) -> None:
    report = analyze_paths([folder])
    data = as_data(report, "en")
    effects = [r["effect"] for f in data["findings"] for r in f["remedies"] if r["effect"]]
    assert effects
    memory = effects[0]["memory_gib"]
    assert memory["after"] < memory["before"] and memory["low"] < memory["after"] < memory["high"]
    assert data["plan"]["before"]["fits"] is False
    assert data["plan"]["steps"][0]["remedy"] == "halve-micro-batch"
    assert "estimated: memory" in text(report)
    assert "+" in data["plan"]["patch"][0]["diff"] and "--micro-batch-size 2" in data["plan"]["patch"][0]["diff"]


def test_effect_and_assessments_follow_the_schema_of_plans(folder: Path) -> None:
    defined = json.loads(files("doctor.views").joinpath("plan.schema.json").read_text(encoding="utf-8"))
    data = as_data(analyze_paths([folder]), "en")
    for kind, value in (("effect", data["plan"]["effect"]), ("assessment", data["plan"]["before"])):
        jsonschema.validate(value, {"$ref": f"#/$defs/{kind}", "$defs": defined["$defs"]})


def test_without_the_card_the_memory_is_estimated_and_the_time_is_not(folder: Path) -> None:
    plan = as_data(analyze_paths([folder]), "en")["plan"]
    assert plan["effect"]["step_time"] is None
    (folder / "gpus.txt").write_text("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n")
    assert as_data(analyze_paths([folder]), "en")["plan"]["effect"]["step_time"]["after"] > 0


def test_what_is_missing_is_named_and_nothing_invented(folder: Path) -> None:
    (folder / "train.sh").write_text(FLAGS.replace("--num-layers 32 --hidden-size 4096 ", ""))
    report = analyze_paths([folder])
    plan = as_data(report, "en")["plan"]
    assert plan["before"] is None and plan["effect"] is None and plan["missing"]
    assert "what the changes do to memory and step time" in text(report)


def test_a_log_alone_has_no_plan(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    assert as_data(analyze_paths([tmp_path]), "en")["plan"] is None


@pytest.mark.parametrize(
    "wild",
    [
        "--num-layers 999999999", "--hidden-size 0", "--num-attention-heads 7", "--micro-batch-size 999999999999",
        "--tensor-model-parallel-size 3", "--pipeline-model-parallel-size 64", "--vocab-size 99999999999999999999",
        "--num-experts 3 --moe-router-topk 9", "--context-parallel-size 1000000", "--seq-length 1",
    ],
)  # fmt: skip
def test_hostile_sizes_do_not_end_the_analysis(folder: Path, wild: str) -> None:
    (folder / "train.sh").write_text(f"{FLAGS.strip()} {wild}\n")
    assert as_data(analyze_paths([folder]), "en")["findings"]
