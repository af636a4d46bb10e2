"""A model's shape from its config.json as Hugging Face Transformers writes it.

The names of the fields are those of transformers' configuration classes (src/transformers/models/*/configuration_*.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.planner.errors import PlanError, reason
from doctor.planner.shape import Mla, Moe, Norm, Shape

MOST_BYTES = 16 * 2**20

# One meaning, the names that the model families give it.
NAMES: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv"),
    "head_dim": ("head_dim", "kv_channels"),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "d_ff"),
    "vocab": ("vocab_size", "padded_vocab_size"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "topk": ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_k", "top_k_experts"),
    "expert_ffn": ("moe_intermediate_size", "expert_intermediate_size"),
}

# Families whose MLP has two matrices; any other family of the last years has three.
TWO_MATRICES = frozenset(
    ("gpt2", "gpt_neo", "gpt_neox", "gptj", "opt", "bloom", "falcon", "mpt", "phi", "gpt_bigcode", "starcoder2")
) | {"nemotron"}
LAYER_NORM = TWO_MATRICES | {"cohere", "stablelm", "olmo"}
BIAS = frozenset(("gpt2", "gpt_neo", "gpt_neox", "opt", "bloom", "phi", "gpt_bigcode", "starcoder2"))
LEARNED_POSITIONS = frozenset(("gpt2", "gpt_neo", "opt", "gpt_bigcode"))
# What transformers assumes where the file is silent (PretrainedConfig.tie_word_embeddings, before version 5).
TIED_UNLESS_SAID = frozenset(
    ("gpt2", "gpt_neo", "opt", "bloom", "falcon", "mpt", "gpt_bigcode", "gemma", "gemma2", "gemma3_text")
)


def read_hf_config(path: Path) -> Shape:
    """The shape that a config.json describes. Raises PlanError that names the file and the field."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlanError(reason("reason.of", name=path, why=error.strerror or error)) from None
    if len(text) > MOST_BYTES:
        raise PlanError(reason("reason.of", name=path, why=reason("reason.large", mib=MOST_BYTES >> 20)))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(reason("reason.of", name=path, why=reason("reason.json", why=error))) from None
    if not isinstance(data, dict):
        raise PlanError(reason("reason.of", name=path, why=reason("reason.mapping")))
    return shape_from_hf(data, str(path))


def shape_from_hf(data: Mapping[str, Any], where: str) -> Shape:
    """The shape described by the fields of a config.json; `where` names it in errors."""
    inner = data.get("text_config")
    if isinstance(inner, dict) and _find(data, "layers") is None:  # a vision-language model
        data = {**data, **inner}
    family = str(data.get("model_type", ""))
    hidden = _need(data, "hidden", where)
    heads = _need(data, "heads", where)
    kv_heads = 1 if data.get("multi_query") is True and "num_kv_heads" not in data else _find(data, "kv_heads", where)
    return Shape(
        name=str(data.get("_name_or_path") or family or where),
        layers=_need(data, "layers", where),
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads or heads,
        head_dim=_find(data, "head_dim", where) or hidden // heads,
        ffn=_find(data, "ffn", where) or 4 * hidden,
        vocab=_need(data, "vocab", where),
        gated=family not in TWO_MATRICES,
        tied=_flag(data, "tie_word_embeddings", family in TIED_UNLESS_SAID),
        norm=Norm.LAYER if family in LAYER_NORM else Norm.RMS,
        bias=family in BIAS,
        learned_positions=_whole(data, "max_position_embeddings", where) or _whole(data, "n_positions", where) or 0
        if family in LEARNED_POSITIONS
        else 0,
        mtp_layers=_whole(data, "num_nextn_predict_layers", where) or 0,
        moe=_moe(data, where),
        mla=_mla(data, where),
    )


def _moe(data: Mapping[str, Any], where: str) -> Moe | None:
    experts = _find(data, "experts", where)
    if not experts or experts < 2:
        return None
    ffn = _find(data, "expert_ffn", where) or _need(data, "ffn", where)
    shared = _whole(data, "shared_expert_intermediate_size", where)
    if shared is None:
        shared = (_whole(data, "n_shared_experts", where) or 0) * ffn
    dense = _whole(data, "first_k_dense_replace", where) or 0
    listed = data.get("mlp_only_layers")
    if not dense and isinstance(listed, list):
        dense = len(listed)
    return Moe(experts=experts, topk=_need(data, "topk", where), ffn=ffn, shared_ffn=shared, dense_layers=dense)


def _mla(data: Mapping[str, Any], where: str) -> Mla | None:
    kv_lora = _whole(data, "kv_lora_rank", where)
    if not kv_lora:
        return None
    nope = _whole(data, "qk_nope_head_dim", where) or 0
    return Mla(
        q_lora=_whole(data, "q_lora_rank", where) or 0,
        kv_lora=kv_lora,
        qk_nope=nope,
        qk_rope=_whole(data, "qk_rope_head_dim", where) or 0,
        v_dim=_whole(data, "v_head_dim", where) or nope,
    )


def _need(data: Mapping[str, Any], meaning: str, where: str) -> int:
    value = _find(data, meaning, where)
    if value is None:
        raise PlanError(reason("reason.of", name=where, why=reason("reason.no_field", name=NAMES[meaning][0])))
    return value


def _find(data: Mapping[str, Any], meaning: str, where: str = "") -> int | None:
    for name in NAMES[meaning]:
        value = _whole(data, name, where)
        if value is not None:
            return value
    return None


def _whole(data: Mapping[str, Any], name: str, where: str) -> int | None:
    value = data.get(name)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or not 0 <= value < 2**40:
        raise PlanError(reason("reason.of", name=where, why=reason("reason.field_whole", name=name, value=repr(value))))
    return value


def _flag(data: Mapping[str, Any], name: str, default: bool) -> bool:
    value = data.get(name)
    return value if isinstance(value, bool) else default
