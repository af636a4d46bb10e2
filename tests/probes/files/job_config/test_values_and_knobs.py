"""Texts to values, and the knob table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from probes.files.job_config import knobs, presets, values

CATALOGUE = Path(__file__).parents[4] / "doctor" / "facts" / "catalogue" / "config.yaml"


@pytest.mark.parametrize(
    ("convert", "text", "value"),
    [
        (values.count, "8", 8), (values.count, "-1", None), (values.count, "0", None), (values.whole, "0", 0),
        (values.number, "5e8", 5e8), (values.number, "1,024", 1024.0), (values.number, "2 * 1024", 2048.0),
        (values.seconds, "0:30:00", 1800.0), (values.seconds, "1-00:00:00", 86400.0), (values.seconds, "10m", 600.0),
        (values.size(), "16g", 16 * 2**30), (values.size("m"), "1024", 2**30), (values.size(), "64MiB", 2**26),
        (values.precision, "torch.bfloat16", "bf16"), (values.precision, "16-mixed", "fp16"),
        (values.precision, "no", "fp32"), (values.lower, "AttnBackend.flash", "flash"),
        (presets.node_range, "2:2", 2), (presets.generic_resource, "gpu:h100:8", 8), (presets.generic_resource, "none", None),
        (presets.processes, "[0, 1, 2]", 3), (presets.attention, "flash_attention_2", "flash"),
        (presets.attention, "auto", None), (presets.adapter, "full", False), (presets.sharding, "2", "shard_grad_op"),
        (presets.fsdp, "deepspeed_stage_2", {"config.zero_stage": 2}), (presets.fsdp, "ddp", None),
        (presets.recompute, "none", "none"), (presets.balancing, "['aux_loss', 'sinkhorn']", "aux_loss,sinkhorn"),
    ],
)  # fmt: skip
def test_converters(convert: values.Converter, text: str, value: object) -> None:
    assert convert(text) == value


@pytest.mark.parametrize(
    ("convert", "text"),
    [(values.count, "1.5"), (values.count, "1,2"), (values.number, "1e400"), (values.number, "9**9**9"),
     (values.flag, "maybe"), (values.size(), "big"), (values.zero_stage, "7"), (values.number, "nan")],
)  # fmt: skip
def test_what_does_not_parse_is_refused(convert: values.Converter, text: str) -> None:
    with pytest.raises(ValueError, match=r"^not "):
        convert(text)


@given(st.text(max_size=40))
def test_a_converter_returns_or_refuses(text: str) -> None:
    for _, convert, _ in knobs.TABLE:
        try:
            convert(text)
        except ValueError:
            continue


def test_every_key_is_listed_once() -> None:
    keys = Counter(key for _, _, listed in knobs.TABLE for key in listed.split())
    assert [key for key, times in keys.items() if times > 1] == []
    assert all(key == knobs.normal(key) for key in keys)


def test_every_fact_of_the_table_is_in_the_catalogue_with_its_type() -> None:
    catalogue = YAML(typ="safe").load(CATALOGUE)
    assert {f"config.{fact}" for fact, _, _ in knobs.TABLE} <= set(catalogue)


def test_the_longest_ending_decides() -> None:
    named = {key: knob.fact for key in ("--pipeline-model-parallel-size", "training.batch_size", "DataLoader.batch_size")
             if (knob := knobs.find(key))}  # fmt: skip
    assert named == {
        "--pipeline-model-parallel-size": "config.pp",
        "training.batch_size": "config.micro_batch",
        "DataLoader.batch_size": "config.micro_batch",
    }
    assert knobs.find("batch_size") is None
    assert knobs.find("rollout.tensor_model_parallel_size") is None
