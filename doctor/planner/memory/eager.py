"""What the forward pass of one layer keeps when PyTorch's own operations run it: torchtitan, transformers, MPT.

B a token of one micro-batch on one rank, with the names of doctor.planner.memory.activations. Read off the operations
that autograd saves for (derivatives.yaml of PyTorch) and held against a count of all storages alive.
"""

from __future__ import annotations

from collections.abc import Mapping

from doctor.planner.job import Attention, Job, Recompute
from doctor.planner.memory.activations import word

DROPPED = {
    "core_attn": ("scores",),
    "layernorm": ("norm_attention", "norm_mlp"),
    "mla_up_proj": ("qkv",),
    "mlp": ("mlp",),
    "moe": ("router", "experts", "shared"),
    "shared_experts": ("shared",),
}


def parts(job: Job, layer: int) -> Mapping[str, float]:
    """B a token by what keeps it, without any recomputation.

    Each product keeps its input; SiLU and the product of gate and value keep theirs; attention keeps queries, keys and
    values (those of fewer heads repeated to all of them), output and statistics. With sequence parallelism a layer's
    input is 1/t, but products keep it gathered. A compiled block keeps results of products only and derives the rest.
    """
    shape, tp = job.shape, job.layout.tp
    one = word(job)
    spread = tp if job.layout.sp else 1
    heads = shape.heads / tp
    query = one * heads * shape.head_dim
    key = one * shape.head_dim * max(1.0, shape.kv_heads / tp)
    if shape.mla:
        query = one * heads * (shape.mla.qk_nope + shape.mla.qk_rope)
        key = query
    repeated = key if job.compile else query
    found = {
        "residual": 2 * one * shape.hidden / spread,
        "norm_attention": 0.0 if job.compile else one * shape.hidden,
        "norm_mlp": 0.0 if job.compile else one * shape.hidden,
        "qkv": query + 2 * repeated,
        "output": one * heads * (shape.mla.v_dim if shape.mla else shape.head_dim),
        "scores": 4 * heads,
    }
    if job.attention is Attention.UNFUSED:
        found["scores"] = heads * job.seq * (3 * one if job.dropout else 2 * one)
    if job.dropout:
        found["masks"] = 2 * shape.hidden / spread
    if shape.mla:
        found["latents"] = one * (2 * shape.mla.q_lora + 2 * shape.mla.kv_lora + shape.mla.qk_rope)
    copies = 4 if shape.gated else 2  # gate, its SiLU, value and their product; or before and after the activation
    if job.compile:
        copies //= 2
    if shape.is_moe(layer) and shape.moe:
        moe = shape.moe
        found["router"] = 12.0 * moe.experts
        found["experts"] = job.imbalance * moe.topk * one * (2 * shape.hidden + copies * moe.ffn / job.layout.etp)
        found["shared"] = copies * one * moe.shared_ffn / tp
    else:
        found["mlp"] = copies * one * shape.ffn / tp
    return found


def kept(job: Job, layer: int) -> float:
    """B a token that one layer keeps, after what is recomputed is dropped."""
    found = parts(job, layer)
    if job.recompute is Recompute.FULL:
        return found["residual"] / 2
    if job.recompute is Recompute.OPERATORS:
        return _every_second_product(job, layer, found)
    modules = job.recompute_modules if job.recompute is Recompute.MODULES else frozenset[str]()
    if job.recompute is Recompute.SELECTIVE:
        modules = frozenset(("core_attn",))
    dropped = {part for module in modules for part in DROPPED.get(module, ())}
    return sum(size for part, size in found.items() if part not in dropped)


def working(job: Job, layer: int) -> float:
    """B a token that the backward pass of one layer needs beside what is kept: gradients of gate, value, their product
    and of the input, or those of attention with repeated keys and values."""
    found = parts(job, layer)
    mlp = found.get("mlp", 0.0) + found.get("experts", 0.0) + found.get("shared", 0.0)
    inner = word(job) * job.shape.hidden
    return max(mlp * (0.75 if job.shape.gated else 1.0), 2 * found["qkv"]) + 2 * inner


def _every_second_product(job: Job, layer: int, found: Mapping[str, float]) -> float:
    """torchtitan's per-operator checkpointing: the layer's input, attention's output, and of the products in the order
    query, key, value, output, gate, value, down every second. The last is kept before it is summed over the TP group,
    and the sums of both are kept too (torchtitan, models/llama3/infra/parallelize.py, save list)."""
    shape, tp, one = job.shape, job.layout.tp, word(job)
    value = one * shape.head_dim * max(1.0, shape.kv_heads / tp)
    query = found["output"]
    third = found.get("mlp", 0.0) / (2 if job.compile else 4) if shape.gated else 0.0
    products = query + value + third + (one * shape.hidden if shape.gated else found.get("mlp", 0.0) / 2)
    summed = 2 * one * shape.hidden / tp if tp > 1 else 0.0
    moe = found.get("experts", 0.0) / 2 + found.get("shared", 0.0) / 2
    return found["residual"] / 2 + products + found["output"] + 4 * shape.heads / tp + summed + moe
