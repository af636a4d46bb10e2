"""config.json of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.planner.errors import PlanError
from doctor.planner.families import model
from doctor.planner.hf_config import read_hf_config, shape_from_hf

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "head_dim": 128,
    "intermediate_size": 18432,
    "vocab_size": 129280,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_nextn_predict_layers": 1,
    "tie_word_embeddings": False,
}


def same(left: Any, right: Any, *but: str) -> bool:
    names = set(left.__dataclass_fields__) - {"name", *but}
    return all(getattr(left, name) == getattr(right, name) for name in names)


def test_a_dense_model_is_the_one_of_the_table() -> None:
    assert same(shape_from_hf(LLAMA, "config.json"), model("llama3-70b"))


def test_latent_attention_experts_and_multi_token_prediction_are_read() -> None:
    shape = shape_from_hf(DEEPSEEK, "config.json")
    assert same(shape, model("deepseek-v3"), "mtp_layers")
    assert shape.mtp_layers == 1


def test_experts_named_as_mixtral_and_as_qwen_name_them() -> None:
    mixtral = shape_from_hf(LLAMA | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}, "c")
    assert mixtral.moe is not None and mixtral.moe.ffn == 28672
    qwen = shape_from_hf(
        LLAMA
        | {
            "num_experts": 60,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
        },
        "c",
    )
    assert qwen.moe is not None and (qwen.moe.ffn, qwen.moe.shared_ffn) == (1408, 5632)


def test_the_names_of_gpt2_and_multi_query_attention() -> None:
    gpt2 = shape_from_hf(
        {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024},
        "c",
    )
    assert same(gpt2, model("gpt2"))
    falcon = shape_from_hf(
        {
            "model_type": "falcon",
            "hidden_size": 4544,
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "multi_query": True,
            "vocab_size": 65024,
        },
        "c",
    )
    assert falcon.kv_heads == 1 and not falcon.gated


def test_the_language_part_of_a_vision_model_counts() -> None:
    shape = shape_from_hf({"model_type": "llava", "text_config": LLAMA, "vision_config": {"hidden_size": 1024}}, "c")
    assert shape.layers == 80


def test_dense_models_name_no_experts() -> None:
    assert shape_from_hf(LLAMA | {"num_experts": 0}, "c").moe is None
    assert shape_from_hf(LLAMA | {"num_local_experts": 1}, "c").moe is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "is a mapping"),
        ("[" * 100_000, "not JSON"),
        ("{}", "no num_attention_heads|no hidden_size|no num_hidden_layers"),
        (json.dumps(LLAMA | {"hidden_size": "8k"}), "hidden_size is '8k'; it must be a whole number"),
        (json.dumps(LLAMA | {"num_hidden_layers": -1}), "num_hidden_layers is -1"),
        (json.dumps(LLAMA | {"num_key_value_heads": 7}), "64 heads do not divide into 7"),
    ],
)
def test_nonsense_is_named_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(PlanError, match=message) as caught:
        read_hf_config(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="No such file"):
        read_hf_config(tmp_path / "config.json")
