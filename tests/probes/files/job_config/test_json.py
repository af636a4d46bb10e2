"""DeepSpeed's JSON, a model's config.json and other JSON."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probes.files.job_config import read_config
from probes.files.job_config.lenient import entries
from tests.probes.files.job_config.reading import facts, warnings

DEEPSPEED = """\
{
  // set by the trainer
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": 4,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3,
    "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "none"},
    "reduce_bucket_size": 5e8,
    "zero_hpz_partition_size": 8,
  },
}
"""


def test_deepspeed_with_comments_and_trailing_commas() -> None:
    assert facts(DEEPSPEED, "ds.json") == {
        "framework": "deepspeed", "micro_batch": 4, "precision": "bf16", "zero_stage": 3, "offload_optimizer": True,
        "offload_device": "cpu", "offload_param": False, "reduce_bucket": 5e8, "zero_hpz": 8,
    }  # fmt: skip
    assert warnings(DEEPSPEED, "ds.json") == []


def test_the_line_is_that_of_the_key() -> None:
    lines = {fact.name: fact.source.line for fact in read_config("ds.json", DEEPSPEED.encode()).facts}
    assert (lines["config.zero_stage"], lines["config.reduce_bucket"]) == (7, 10)


def test_auto_is_unknown_and_nonsense_is_a_warning() -> None:
    text = '{"zero_optimization": {\n"stage": "three", "reduce_bucket_size": "auto", "overlap_comm": NaN}}'
    assert facts(text, "ds.json") == {"framework": "deepspeed"}
    assert warnings(text, "ds.json")[0].startswith("ds.json:2: deepspeed.zero_optimization.stage = three is not")


def test_a_file_that_is_cut_off_gives_what_it_has() -> None:
    text = '{"zero_optimization": {"stage": 2, "overlap_comm": tr'
    assert facts(text, "ds.json")["zero_stage"] == 2
    assert any("ends inside" in warning for warning in warnings(text, "ds.json"))


def test_the_shape_of_a_model() -> None:
    text = """{"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "num_local_experts": 8, "vocab_size": 32000, "hidden_act": "silu", "vision_config": {"hidden_size": 1024}}"""
    assert facts(text, "config.json") == {
        "hidden_size": 4096, "num_layers": 32, "num_heads": 32, "num_kv_heads": 8, "num_experts": 8,
        "vocab_size": 32000, "gated_mlp": True,
    }  # fmt: skip


def test_fsdp_settings() -> None:
    text = '{"fsdp": "shard_grad_op auto_wrap offload", "fsdp_config": {"fsdp_version": 2}}'
    found = facts(text, "fsdp.json")
    assert found == {"fsdp": True, "fsdp_strategy": "shard_grad_op", "offload_param": True, "fsdp_version": 2}


def test_deep_nesting_is_passed_over() -> None:
    text = '{"a":' * 50_000 + "1" + "}" * 50_000
    assert read_config("deep.json", text.encode()).facts == []


@given(st.recursive(st.integers() | st.text() | st.booleans() | st.none(), lambda c: st.dictionaries(st.text(), c)))
def test_every_json_document_is_scanned(value: object) -> None:
    import json

    assert all(entry.offset >= 0 for entry in entries(json.dumps({"root": value})))


@given(st.text(max_size=200))
def test_any_text_is_scanned(text: str) -> None:
    assert len(list(entries(text))) <= len(text)
