"""Floating-point operations of a training step, and what part of the hardware's peak they are."""

from __future__ import annotations

from doctor.planner.job import Job, Recompute
from doctor.planner.shape import Shape


def layer_flops(shape: Shape, layer: int, seq: int, causal: bool = True) -> float:
    """FLOP of the forward pass of one token through one layer.

    A product of (1, n) by (n, k) is 2nk FLOP (Narayanan et al., SC21, arXiv 2104.04473, appendix). Scores and their
    product with the values take 2 * 2 * seq * heads * head_dim; a causal mask halves that, for kernels skip what is
    masked (FlashAttention-2, arXiv 2307.08691, section 4.1). Routed experts count top-k times.
    """
    return projections_flops(shape) + scores_flops(shape, seq, causal) + mlp_flops(shape, layer)


def projections_flops(shape: Shape) -> float:
    """FLOP of the attention projections of one token of one layer, forward."""
    if shape.mla:
        mla = shape.mla
        query_width = shape.heads * (mla.qk_nope + mla.qk_rope)
        query = (
            2 * shape.hidden * mla.q_lora + 2 * mla.q_lora * query_width
            if mla.q_lora
            else 2 * shape.hidden * query_width
        )
        down = 2 * shape.hidden * (mla.kv_lora + mla.qk_rope)
        up = 2 * mla.kv_lora * shape.heads * (mla.qk_nope + mla.v_dim)
        return query + down + up + 2 * shape.heads * mla.v_dim * shape.hidden
    width = shape.head_dim * (2 * shape.heads + 2 * shape.kv_heads)
    return 2 * shape.hidden * width


def scores_flops(shape: Shape, seq: int, causal: bool = True) -> float:
    """FLOP of scores and weighted values of one token of one layer, forward."""
    wide = shape.mla.qk_nope + shape.mla.qk_rope + shape.mla.v_dim if shape.mla else 2 * shape.head_dim
    return 2 * seq * shape.heads * wide * (0.5 if causal else 1.0)


def mlp_flops(shape: Shape, layer: int) -> float:
    """FLOP of the MLP or of the experts of one token of one layer, forward."""
    matrices = 3 if shape.gated else 2
    if shape.moe and shape.is_moe(layer):
        moe = shape.moe
        return 2 * shape.hidden * (matrices * (moe.topk * moe.ffn + moe.shared_ffn) + moe.experts)
    return 2 * shape.hidden * matrices * shape.ffn


def head_flops(shape: Shape) -> float:
    """FLOP of the output head of one token, forward."""
    return 2 * shape.hidden * shape.vocab


def forward_flops(shape: Shape, seq: int, causal: bool = True) -> float:
    """FLOP of one token through the whole model, forward. A layer of multi-token prediction costs a layer, its
    projection of two hidden states to one, and a head."""
    layers = sum(layer_flops(shape, layer, seq, causal) for layer in range(shape.layers))
    extra = layer_flops(shape, shape.layers - 1, seq, causal) + 4 * shape.hidden**2 + head_flops(shape)
    return layers + head_flops(shape) + shape.mtp_layers * extra


def model_flops(job: Job, causal: bool = False) -> float:
    """FLOP that a step needs over all GPUs: the backward pass costs twice the forward pass.

    Whole score matrices by default, as frameworks count them for MFU (PaLM, arXiv 2204.02311, appendix B).
    """
    return 3 * job.global_batch * job.seq * forward_flops(job.shape, job.seq, causal)


def mfu(job: Job, step_time: float, causal: bool = False) -> float:
    """Model FLOP utilisation, 0 to 1: FLOP that the model needs over what the GPUs could do in `step_time` seconds."""
    return model_flops(job, causal) / (step_time * job.cluster.gpus * job.cluster.gpu.known("peak_bf16"))


def recomputed_share(job: Job) -> float:
    """Share of the forward FLOP that is done again in the backward pass: 1 with full recomputation of all layers."""
    if job.recompute is Recompute.NONE:
        return 0.0
    shape = job.shape
    whole = forward_flops(shape, job.seq)
    layers = whole - head_flops(shape)
    if job.recompute is Recompute.FULL:
        stage_layers = shape.layers / job.layout.pp
        part = 1.0 if job.recompute_layers is None else min(1.0, job.recompute_layers / stage_layers)
        return part * layers / whole
    if job.recompute is Recompute.SELECTIVE:
        return shape.layers * scores_flops(shape, job.seq) / whole
    if job.recompute is Recompute.OPERATORS:  # every second product again, attention kept (torchtitan)
        return 0.5 * (layers - shape.layers * scores_flops(shape, job.seq)) / whole
    return sum(_module_flops(job, layer) for layer in range(shape.layers)) / whole


def _module_flops(job: Job, layer: int) -> float:
    """FLOP of one token that recomputing the named modules repeats in one layer; norms and activations are free."""
    shape, modules = job.shape, job.recompute_modules
    flops = 0.0
    if "core_attn" in modules:
        flops += scores_flops(shape, job.seq)
    if ("moe" in modules and shape.is_moe(layer)) or ("mlp" in modules and not shape.is_moe(layer)):
        flops += mlp_flops(shape, layer)
    if "mla_up_proj" in modules and shape.mla:
        flops += 2 * shape.mla.kv_lora * shape.heads * (shape.mla.qk_nope + shape.mla.v_dim)
        flops += 2 * shape.mla.q_lora * shape.heads * (shape.mla.qk_nope + shape.mla.qk_rope)
    return flops


def hfu(job: Job, step_time: float) -> float:
    """Hardware FLOP utilisation, 0 to 1: recomputed operations count too (PaLM, arXiv 2204.02311, appendix B)."""
    return mfu(job, step_time) * (1 + recomputed_share(job) / 3)
