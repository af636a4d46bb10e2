"""Published measurements as jobs."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.planner.errors import PlanError
from doctor.planner.job import Attention, Loss, Precision, Recompute, Schedule, Sharding, Stack
from doctor.planner.records import read_file, read_folder, read_record
from doctor.planner.stages import split
from doctor.rulebase.model import Text

ROW: dict[str, Any] = {
    "id": "llama-8b",
    "kind": "measured",
    "model": {
        "name": "llama", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 14336,
        "vocab": 128256, "gated": True, "tied_embedding": False, "seq": 8192,
    },
    "hardware": {"gpu": "H100-SXM-80GB", "mem_gb": 80, "peak_bf16": 989, "count": 16, "per_node": 8},
    "parallel": {"tp": 2, "sp": True, "pp": 2, "vpp": 1, "cp": 1, "ep": 1, "etp": 1, "dp": 4, "zero": 1, "dist_opt": True, "fsdp": 0},
    "train": {"mbs": 1, "gbs": 64, "precision": "bf16", "recompute": "none"},
    "measured": {"mem_gib_allocated": 40.5, "iter_s": "unknown"},
}  # fmt: skip


def row(**changes: Any) -> dict[str, Any]:
    """ROW with changes; `section__name=value` changes or, with ..., removes one value."""
    changed = deepcopy(ROW)
    for path, value in changes.items():
        section, name = path.split("__", 1)
        if value is ...:
            changed[section].pop(name, None)
        else:
            changed[section][name] = value
    return changed


def test_a_record_is_a_job_with_what_was_measured() -> None:
    record = read_record(ROW, "simulated")
    assert record.job and not record.reason and record.is_measured and record.gpus_known
    assert record.job.layout.world == 16 and record.job.micro_batches == 16
    assert record.job.sharding is Sharding.OPTIMIZER and record.job.stack is Stack.MEGATRON
    assert record.number("mem_gib_allocated") == 40.5
    assert record.number("iter_s") is None


def test_an_unknown_key_is_no_reason_to_give_up() -> None:
    changed = row(model__colour="blue", train__weather=[1, {"a": None}])
    changed["new_section"] = {"x": 1}
    assert read_record(changed).job == read_record(ROW).job


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"train__mbs": "unstated"}, "train.mbs is unstated; a whole number is needed"),
        ({"model__layers": ...}, "model.layers is missing"),
        ({"model__arch": "not modelled (hybrid/other)"}, "only decoder-only transformers are modelled"),
        ({"model__moe": {"experts": 8, "topk": "unstated", "ffn": 10}}, "model.moe.topk is unstated"),
        ({"model__moe": {"experts": 8, "topk": 2, "ffn": 10, "layer_freq": "[0,1]*3+[1]"}}, "layer_freq is .*dense first"),
        ({"model__moe": {"experts": 8, "topk": 2, "ffn": 10, "layer_freq": "__import__('os')"}}, "layer_freq is"),
        ({"hardware__count": "unstated"}, "hardware.count is unstated"),
        ({"hardware__count": 12}, "16 ranks, but there are 12 GPUs|not whole nodes"),
        ({"hardware__gpu": "Abacus"}, "'Abacus', which is not in the table of GPUs"),
        ({"train__recompute": "none vs selective"}, "two runs in one record"),
        ({"train__recompute": "sometimes"}, "'sometimes'; known are none"),
        ({"train__precision": "int1"}, "'int1'; known are bf16"),
        ({"model__vocab": None, "model__tokenizer": "MyTokenizer"}, "'MyTokenizer' has no known size"),
        ({"parallel__zero": 7}, "parallel.zero is 7"),
        ({"train__gbs": 3}, "not a multiple of micro_batch 1 x dp 4"),
        ({"model__hidden": 1e300}, "model.hidden is 1e\\+300"),
        ({"model__heads": True}, "model.heads is True"),
    ],
)  # fmt: skip
def test_what_cannot_be_modelled_says_why(changes: dict[str, Any], reason: str) -> None:
    record = read_record(row(**changes))
    assert record.job is None
    assert record.reason and re.search(reason, record.reason.en), record.reason


def test_what_is_safe_to_assume_is_assumed_and_said() -> None:
    record = read_record(
        row(train__recompute="unstated", train__gbs=None, train__precision="NVFP4", parallel__vpp_note="vpp unstated")
    )
    assert record.job and record.job.precision is Precision.FP8
    assert [text.split(":")[0] for text in record.assumed] == ["vpp", "recompute", "precision", "global_batch"]


def test_a_gpu_that_is_not_in_the_table_is_taken_as_described() -> None:
    job = read_record(row(hardware__gpu="H100-SXM-96GB-HBM2e-500W", hardware__mem_gb=96)).job
    assert job and 94 < job.cluster.gpu.memory / 2**30 < 96


def test_flags_of_megatron_are_understood() -> None:
    flags = {
        "attention-backend": "unfused", "cross-entropy-loss-fusion": True, "cross-entropy-fusion-impl": "te", "attention-dropout": 0.0, "hidden-dropout": 0.0,
        "no-gradient-accumulation-fusion": True, "num-distributed-optimizer-instances": 2, "mtp-num-layers": 1,
        "pipeline-model-parallel-layout": "Et*8|(tt|)*2t*20mL", "recompute-modules": "[moe_act, mlp]",
    }  # fmt: skip
    job = read_record(row(train__flags=flags, parallel__pp=4, parallel__dp=2)).job
    assert job
    assert job.attention is Attention.UNFUSED and job.loss is Loss.FUSED and not job.dropout and not job.fused_grads
    assert job.layout.shard == 1 and job.shape.mtp_layers == 1
    assert split(job) == (8, 2, 2, 20)
    assert job.recompute is Recompute.MODULES and job.recompute_modules == {"moe_act", "mlp"}


def test_a_block_of_layers_may_be_recomputed() -> None:
    flags = {"recompute-method": "block", "recompute-num-layers": 3}
    job = read_record(row(train__flags=flags, train__recompute="full", parallel__vpp=4)).job
    assert job and job.recompute_layers == 12


def test_a_batch_of_a_rank_is_cut_for_the_stages() -> None:
    record = read_record(row(train__mbs="unstated (local batch 8)"))
    assert record.job and record.job.micro_batch == 4
    assert record.assumed == ("micro_batch: 4 (one for each of 2 stages)",)


def test_ends_of_the_model_may_count_as_layers() -> None:
    flags = {"account-for-embedding-in-pipeline-split": True, "account-for-loss-in-pipeline-split": True}
    job = read_record(row(train__flags=flags, parallel__vpp=2, model__layers=14)).job
    assert job and split(job) == (3, 4, 4, 3)
    assert job.schedule is Schedule.INTERLEAVED


@pytest.mark.parametrize(
    ("words", "recompute"),
    [
        ("selective-op", Recompute.OPERATORS),
        ("selective-layer", Recompute.FULL),
        ("selective layernorm+moe", Recompute.MODULES),
        ("norm,act", Recompute.MODULES),
        ("full", Recompute.FULL),
        ("selective", Recompute.SELECTIVE),
        ("sp_selective", Recompute.SELECTIVE),
    ],
)
def test_recomputation_has_many_words(words: str, recompute: Recompute) -> None:
    record = read_record(row(train__recompute=words))
    assert record.job and record.job.recompute is recompute


def test_repeats_of_a_configuration_are_held_out_together() -> None:
    changed = row()
    changed["id"], changed["measured"] = "another", {"iter_s": 3.0}
    assert read_record(changed).held_out == read_record(ROW).held_out
    held = [read_record(row(train__gbs=64 * n)).held_out for n in range(1, 201)]
    assert 25 < sum(held) < 75


def test_a_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("[{id: one}, two, 3, null]")
    (tmp_path / "b.yaml").write_text("{not: a list}")
    (tmp_path / "c.yaml").write_text("[unclosed")
    (tmp_path / "d.yaml").write_bytes(b"\xff\xfe\x00\x01\x02")
    records, problems = read_folder(tmp_path)
    assert [record.id for record in records] == ["one", "a[2]", "a[3]", "a[4]"]
    assert records[1].reason == Text("is text; expected a mapping", "是文本；应为键值映射")
    assert len(problems) == 3 and "b.yaml: holds a mapping; expected a list of records" in problems[0].en


def test_a_folder_without_records_says_so(tmp_path: Path) -> None:
    assert read_folder(tmp_path)[1][0].en.endswith("no .yaml file; expected lists of records")
    assert "No such file" in read_folder(tmp_path / "gone")[1][0].en
    with pytest.raises(PlanError, match="No such file"):
        read_file(tmp_path / "gone.yaml")


def test_aliases_that_grow_without_end_are_cut(tmp_path: Path) -> None:
    levels = "\n".join(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    (tmp_path / "bomb.yaml").write_text(f"- &a0 [x]\n{levels}\n- {{model: {{layers: *a11}}, train: {{mbs: *a7}}}}\n")
    records = read_file(tmp_path / "bomb.yaml")
    assert records[-1].job is None and records[-1].reason


@settings(max_examples=200)
@given(
    section=st.sampled_from(["model", "hardware", "parallel", "train", "measured"]),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
        max_leaves=6,
    ),
    data=st.data(),
)
def test_no_value_anywhere_breaks_the_reader(section: str, value: Any, data: st.DataObject) -> None:
    changed = deepcopy(ROW)
    name = data.draw(st.sampled_from([*changed[section], "moe", "mla", "flags"]))
    changed[section][name] = value
    record = read_record(changed)
    assert record.job is not None or record.reason
