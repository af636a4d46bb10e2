"""What the forward pass of one layer keeps for its backward pass, with Megatron-LM on Transformer Engine.

Everything is in B a token of one micro-batch on one rank. Per token and not yet divided: h hidden, a and k heads of
queries and of keys, d their width, f inner width of the MLP, s sequence; t tensor-parallel ranks; u = t with sequence
parallelism, else 1. Activations have 2 B. The paper's form of the same sum is s*b*h*(34 + 5*a*s/h) (Korthikanti et al.,
arXiv 2205.05198, section 4.1); fused kernels keep less.
"""

from __future__ import annotations

from collections.abc import Mapping

from doctor.planner.job import Attention, Job, Precision, Recompute

# What recomputing a module of Megatron's --recompute-modules drops (transformer_config.py, recompute_modules).
DROPPED = {
    "core_attn": ("scores",),
    "layernorm": ("norm_attention", "norm_mlp"),
    "mla_up_proj": ("qkv",),
    "mlp": ("mlp_hidden", "mlp_act"),
    "moe_act": ("expert_act", "expert_weighted"),
    "moe": (
        "router",
        "expert_in",
        "expert_hidden",
        "expert_act",
        "expert_weighted",
        "expert_out",
        "shared_hidden",
        "shared_act",
    ),
    "shared_experts": ("shared_hidden", "shared_act"),
}


def kept(job: Job, layer: int) -> float:
    """B a token that one layer keeps, after what is recomputed is dropped. Full recomputation keeps the layer's input
    (Korthikanti et al., section 5)."""
    whole = parts(job, layer)
    if job.recompute is Recompute.FULL:
        return whole["residual"] / 2
    return sum(whole.values()) - sum(whole.get(part, 0.0) for part in _dropped(job))


def parts(job: Job, layer: int) -> Mapping[str, float]:
    """B a token by what keeps it, without any recomputation."""
    shape, tp = job.shape, job.layout.tp
    spread = tp if job.layout.sp else 1
    found = {"residual": 2 * word(job) * shape.hidden / spread, "norm_mlp": _input(job) * shape.hidden / spread}
    found.update(_attention(job))
    if job.dropout:
        found["masks"] = 2 * shape.hidden / spread  # one byte, after attention and after the MLP
    if shape.is_moe(layer):
        found.update(_experts(job))
    else:
        found.update(_mlp(job, "mlp", shape.ffn))
    return found


def working(job: Job, layer: int) -> float:
    """B a token that the backward pass of one layer needs beside what is kept: gradients of the widest operations.

    MLP: gradient of the product of gate and value beside those of both, or beside the input's; attention: gradients of
    queries, keys, values and output, and the fp32 sum of the queries' (FlashAttention-2, arXiv 2307.08691, section
    3.1). With sequence parallelism the input of the first product is gathered over the TP group once more
    (Korthikanti et al., section 4.2.2).
    """
    shape, tp = job.shape, job.layout.tp
    h, two = word(job) * shape.hidden, 2 if shape.gated else 1
    gathered = 2 * h if job.layout.sp else h
    widths = [_backward(h, word(job) * shape.ffn / tp, two)]
    if shape.is_moe(layer) and shape.moe:
        copies = job.imbalance * shape.moe.topk / (tp if job.layout.sp else 1)
        widths = [copies * _backward(h, word(job) * shape.moe.ffn, two) + h]
    query, key, value = _head_widths(job)
    attention = word(job) * (2 * value + 2 * query + key) + 4 * query
    if job.attention is Attention.UNFUSED:
        attention += 2 * word(job) * shape.heads / tp * job.seq
    return max(*widths, attention) + gathered


def _backward(h: float, inner: float, two: int) -> float:
    """Widest moment in the backward pass of an MLP; both arguments in B."""
    return max(inner * (1 + two), h + inner * two)


def _dropped(job: Job) -> tuple[str, ...]:
    if job.recompute is Recompute.SELECTIVE:
        return DROPPED["core_attn"]
    if job.recompute is Recompute.MODULES:
        return tuple({part for module in job.recompute_modules for part in DROPPED.get(module, ())})
    return ()


def word(job: Job) -> float:
    """B of an element of an activation."""
    return 4.0 if job.precision is Precision.FP32 else 2.0


def _input(job: Job) -> float:
    """B of an element that a product keeps of its input: FP8 products keep it in FP8."""
    return 1.0 if job.precision is Precision.FP8 or job.fp8_parameters else word(job)


def _head_widths(job: Job) -> tuple[float, float, float]:
    """Widths of queries, keys and values on one rank, in elements a token."""
    shape, tp = job.shape, job.layout.tp
    if shape.mla:
        wide = (shape.mla.qk_nope + shape.mla.qk_rope) * shape.heads / tp
        return wide, wide, shape.mla.v_dim * shape.heads / tp
    key = shape.head_dim * max(1.0, shape.kv_heads / tp)
    return shape.head_dim * shape.heads / tp, key, key


def _attention(job: Job) -> dict[str, float]:
    """Input, latents, queries, keys, values, output, and the softmax's statistics (4 B a head) or its whole result.

    Unfused attention keeps the softmax's output, with dropout also its mask and its result (5*a*s; 2*a*s without).
    """
    shape, tp = job.shape, job.layout.tp
    query, key, value = _head_widths(job)
    output = shape.heads / tp * (shape.mla.v_dim if shape.mla else shape.head_dim)
    found = {
        "norm_attention": _input(job) * shape.hidden / (tp if job.layout.sp else 1),
        "qkv": word(job) * (query + key + value),
        "output": word(job) * output + (output if job.precision is Precision.FP8 else 0.0),
        "scores": 4 * shape.heads / tp,
    }
    if job.attention is Attention.UNFUSED:
        found["scores"] = shape.heads / tp * job.seq * (2 * word(job) + 1 if job.dropout else word(job))
    if shape.mla:  # input and output of the norm of each latent, and the keys' rotary part
        mla = shape.mla
        spread = tp if job.layout.sp else 1
        found["latents"] = word(job) * (2 * mla.q_lora + 2 * mla.kv_lora + mla.qk_rope) / spread
    return found


def _mlp(job: Job, name: str, inner: int) -> dict[str, float]:
    """Result of the first product (two of it with a gate) and the input of the second."""
    width = inner / job.layout.tp
    two = 2 if job.shape.gated else 1
    return {f"{name}_hidden": word(job) * two * width, f"{name}_act": _input(job) * width}


def _experts(job: Job) -> dict[str, float]:
    """Each token is kept top-k times: as experts take it, inside them, and where it is put together again.

    Tokens of all ranks of the expert group are spread evenly but for `imbalance`; with sequence parallelism a rank
    dispatches 1/t of the tokens. Expert tensor parallelism gathers the tokens of its group and cuts the inner width
    (Megatron-LM, core/transformer/moe/token_dispatcher.py, experts.py). Router: fp32 logits, probabilities, map.
    """
    shape, moe, etp = job.shape, job.shape.moe, job.layout.etp
    assert moe
    spread = job.layout.tp if job.layout.sp else 1
    copies = job.imbalance * moe.topk / spread
    two = 2 if shape.gated else 1
    found = {
        "router": 12.0 * moe.experts / spread,
        "expert_in": copies * etp * _input(job) * shape.hidden,
        "expert_hidden": copies * word(job) * two * moe.ffn,
        "expert_act": copies * _input(job) * moe.ffn,
        "expert_out": copies * word(job) * shape.hidden,
    }
    if not shape.gated:  # weighted by the router in an operation of its own (experts.py, bias_act_func)
        found["expert_weighted"] = copies * word(job) * moe.ffn
    if moe.shared_ffn:
        found.update(_mlp(job, "shared", moe.shared_ffn))
    return found
