"""Seconds of one micro-batch's work on one rank: matrix products, attention, memory-bound operators, the host."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import hypot

from doctor.planner.cluster import Gpu
from doctor.planner.constants import Constants
from doctor.planner.errors import PlanError, reason
from doctor.planner.flops import scores_flops
from doctor.planner.job import Attention, Job, Precision, Recompute, Stack
from doctor.planner.shape import Shape

WORD = 2.0  # B of an activation; fp32 training is counted twice as wide
ULTRA = ("B300", "GB300")  # Blackwell Ultra: the same peaks at more power
SCORES_BACKWARD = 2.5  # five products of scores' size backward, two forward (FlashAttention-2, section 3.1)


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of one pass. products: matrix products; attention: scores and weighted values; memory: memory-bound
    operators."""

    products: float = 0.0
    attention: float = 0.0
    memory: float = 0.0

    @property
    def seconds(self) -> float:
        return self.products + self.attention + self.memory

    def __add__(self, other: Work) -> Work:
        return Work(self.products + other.products, self.attention + other.attention, self.memory + other.memory)

    def __mul__(self, times: float) -> Work:
        return Work(self.products * times, self.attention * times, self.memory * times)


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """What one GPU reaches, compared by identity so that it is cheap as a key: products, plain (what stays in 16 bit),
    attention in FLOP/s; memory in B/s; eager, experts, grouped as in Constants; fp8: products are in FP8."""

    products: float
    plain: float
    attention: float
    memory: float
    eager: float
    experts: float
    grouped: float
    expert_rows: float
    fp8: bool
    word: float
    main_grad: bool


def rates(job: Job, constants: Constants) -> Rates:
    """Rates of the job's GPU. Raises PlanError where the table does not know the peak of the number format."""
    return _rates(job.cluster.gpu, job.precision, job.stack, job.compile, job.attention, constants)


@lru_cache(maxsize=512)
def _rates(
    gpu: Gpu, precision: Precision, stack: Stack, compiled: bool, attention: Attention, constants: Constants
) -> Rates:
    generation = generation_of(gpu)
    share = getattr(constants, f"matmul_{generation}")
    eight = constants.fp8_hopper if generation == "hopper" else constants.fp8_blackwell
    if gpu.name in ULTRA:
        share, eight = constants.matmul_ultra, constants.fp8_ultra
    fused = stack in (Stack.MEGATRON, Stack.MEGATRON_FSDP)
    core = getattr(constants, f"attention_{generation}")
    if generation == "hopper" and fused:
        core = constants.attention_fused
    peak = gpu.known("peak_fp16" if precision is Precision.FP16 or gpu.peak_bf16 is None else "peak_bf16")
    if precision is Precision.FP32:
        peak /= 2  # TF32 on tensor cores runs at half the rate of 16 bit
    fp8 = precision is Precision.FP8
    if fp8 and gpu.peak_fp8 is None:
        raise PlanError(reason("reason.fp8", gpu=gpu.name))
    return Rates(
        products=gpu.known("peak_fp8") * eight if fp8 else peak * share,
        plain=peak * share,
        attention=peak * core,
        memory=gpu.known("memory_bandwidth") * constants.bandwidth,
        eager=1.0 if fused or compiled else constants.eager,
        experts=constants.experts_traffic,
        grouped=constants.grouped,
        expert_rows=constants.expert_rows,
        fp8=fp8,
        word=2 * WORD if precision is Precision.FP32 else WORD,
        main_grad=fused,
    )


def generation_of(gpu: Gpu) -> str:
    """The generation whose constants hold for a GPU. What is neither Hopper nor Blackwell is taken as Ampere."""
    for sign, generation in (("B200", "blackwell"), ("B300", "blackwell"), ("RTX PRO 6000", "blackwell"),
                             ("H100", "hopper"), ("H200", "hopper"), ("H800", "hopper"), ("H20", "hopper"),
                             ("MI3", "hopper")):  # fmt: skip
        if sign in gpu.name:
            return generation
    return "ampere"


def layer(job: Job, moe: bool, rate: Rates) -> tuple[Work, Work]:
    """Forward and backward pass of one layer for one micro-batch on one rank, without its collectives."""
    layout = job.layout
    spread = layout.tp if layout.sp else 1
    return _layer(
        rate, job.shape, moe, job.tokens, job.seq, layout.tp, spread, layout.ep, layout.etp, job.imbalance,
        job.attention, job.dropout, bool(job.lora_rank),
    )  # fmt: skip


@lru_cache(maxsize=65536)
def _layer(
    rate: Rates, shape: Shape, moe: bool, tokens: int, seq: int, tp: int, spread: int, ep: int, etp: int,
    imbalance: float, attention: Attention, dropout: bool, frozen: bool,
) -> tuple[Work, Work]:  # fmt: skip
    h = shape.hidden
    forward, backward = _projections(rate, shape, tokens, tp, frozen)
    if moe and shape.moe:
        more = _experts(rate, shape, tokens / tp, ep, etp, imbalance, frozen)
        inner = shape.moe.shared_ffn
    else:
        more, inner = (Work(), Work()), shape.ffn
    forward, backward = forward + more[0], backward + more[1]
    if inner:
        two = 2 if shape.gated else 1
        for n, k in ((two * inner / tp, h), (h, inner / tp)):
            one, other = product(rate, tokens, n, k, frozen)
            forward, backward = forward + one, backward + other
        act = rate.word * inner / tp * tokens * rate.eager / rate.memory
        forward, backward = forward + Work(memory=act * (two + 1)), backward + Work(memory=act * (2 * two + 1))
    # Two norms (read, write) and two residual sums (read two, write one); backward the gradients of the same.
    row = rate.word * h / spread * tokens * rate.eager / rate.memory
    forward, backward = forward + Work(memory=row * 10), backward + Work(memory=row * 14)
    core = scores_flops(shape, seq) * tokens / tp / rate.attention
    forward, backward = forward + Work(attention=core), backward + Work(attention=core * SCORES_BACKWARD)
    if attention is Attention.UNFUSED:  # scores, mask, softmax, dropout: written and read, causal or not
        scores = rate.word * shape.heads / tp * seq * tokens * (8 if dropout else 6) / rate.memory
        forward, backward = forward + Work(memory=scores), backward + Work(memory=scores)
    return forward, backward


def _projections(rate: Rates, shape: Shape, tokens: float, tp: int, frozen: bool) -> tuple[Work, Work]:
    """Products of attention beside its core, and the rotation of queries and keys."""
    h, a, d = shape.hidden, shape.heads / tp, shape.head_dim
    k = max(1.0, shape.kv_heads / tp)
    sizes = [((a + 2 * k) * d, h), (h, a * d)]
    if shape.mla:
        mla = shape.mla
        wide = a * (mla.qk_nope + mla.qk_rope)
        sizes = [(mla.q_lora, h), (wide, mla.q_lora)] if mla.q_lora else [(wide, h)]
        sizes += [(mla.kv_lora + mla.qk_rope, h), (a * (mla.qk_nope + mla.v_dim), mla.kv_lora), (h, a * mla.v_dim)]
    rotated = rate.word * 2 * (a + k) * d * tokens * rate.eager / rate.memory
    forward = backward = Work(memory=rotated)
    for n, inner in sizes:
        one, other = product(rate, tokens, n, inner, frozen)
        forward, backward = forward + one, backward + other
    return forward, backward


def product(rate: Rates, m: float, n: float, k: float, frozen: bool = False, plain: bool = False) -> tuple[Work, Work]:
    """A product (m, k) by (k, n) and its two products backward (one where the weight is frozen).

    2mnk FLOP at the rate of large products and the operands at the memory's run side by side: a smooth maximum of both,
    so that small products reach less. FP8 casts activations: read in 16 bit, written in FP8 as they are and transposed.
    Megatron adds weight gradients to an fp32 buffer each time (gradient accumulation fusion).
    """
    fp8 = rate.fp8 and not plain
    width = 1.0 if fp8 else rate.word
    flop = 2 * m * n * k / (rate.plain if plain else rate.products)
    moved = (width * (m * k + n * k) + rate.word * m * n) / rate.memory
    cast = (rate.word + 2 * width) / rate.memory if fp8 else 0.0
    forward = Work(products=hypot(flop, moved), memory=cast * m * k)
    # The gradient of the input, and unless the weight is frozen the gradient of the weight.
    products = hypot(flop, moved)
    if not frozen:
        products += hypot(flop, moved + (8.0 * n * k / rate.memory if rate.main_grad else 0.0))
    return forward, Work(products=products, memory=cast * m * n)


def _experts(
    rate: Rates, shape: Shape, tokens: float, ep: int, etp: int, imbalance: float, frozen: bool
) -> tuple[Work, Work]:
    """Router, permutation and the grouped products of the busiest rank's experts."""
    moe = shape.moe
    assert moe
    h, local = shape.hidden, moe.experts / ep
    copies = tokens * moe.topk * etp * imbalance
    rows = copies / local
    two = 2 if shape.gated else 1
    speed = rate.products * rate.grouped * rows / (rows + rate.expert_rows)
    width = 1.0 if rate.fp8 else rate.word
    inner = moe.ffn / etp
    flop = 2 * copies * (two + 1) * h * inner / speed
    weights = local * (two + 1) * h * inner
    moved = (width * weights + rate.word * copies * (2 * h + (two + 1) * inner)) / rate.memory
    cast = (rate.word + 2 * width) * copies * (h + inner) if rate.fp8 else 0.0
    act = rate.word * inner * copies * (two + 1)
    # Tokens are copied into the experts' order and back, before and after the exchange; the router's scores are fp32.
    shuffle = rate.word * 4 * tokens * moe.topk * h * rate.experts + 4.0 * tokens * moe.experts * 6
    forward = Work(products=hypot(flop, moved), memory=(cast + act + shuffle) / rate.memory)
    products = hypot(flop, moved)
    if not frozen:
        products += hypot(flop, moved + (8.0 * weights / rate.memory if rate.main_grad else 0.0))
    return forward, Work(products=products, memory=(cast + 2 * act + shuffle) / rate.memory)


def head(job: Job, rate: Rates) -> tuple[Work, Work]:
    """Output head and loss of one micro-batch: the product stays in 16 bit, the loss passes over the logits in fp32."""
    return _head(rate, job.shape.vocab, job.shape.hidden, job.tokens, job.layout.tp, bool(job.lora_rank))


@lru_cache(maxsize=16384)
def _head(rate: Rates, vocab: int, hidden: int, tokens: int, tp: int, frozen: bool) -> tuple[Work, Work]:
    forward, backward = product(rate, tokens, vocab / tp, hidden, frozen, plain=True)
    logits = 4.0 * tokens * vocab / tp * rate.eager / rate.memory
    return forward + Work(memory=3 * logits), backward + Work(memory=2 * logits)


def repeated(job: Job, moe: bool, forward: Work, rate: Rates) -> Work:
    """The part of a layer's forward pass that recomputation repeats in the backward pass (job.recompute, for a layer
    that is recomputed at all). Operators: torchtitan keeps every second product and the scores."""
    if job.recompute is Recompute.FULL:
        return forward
    if job.recompute is Recompute.SELECTIVE:
        if job.attention is Attention.FLASH:
            return Work(attention=forward.attention)
        return Work(attention=forward.attention, memory=forward.memory / 2)
    if job.recompute is Recompute.OPERATORS:
        return Work(products=forward.products / 2, memory=forward.memory)
    if job.recompute is not Recompute.MODULES:
        return Work()
    modules, again = job.recompute_modules, Work()
    if "core_attn" in modules:
        again += Work(attention=forward.attention)
    if "moe" in modules and moe:
        spread = job.layout.tp
        again += _experts(rate, job.shape, job.tokens / spread, job.layout.ep, job.layout.etp, job.imbalance, False)[0]
    if "mlp" in modules and not moe:
        n, k = (3 if job.shape.gated else 2) * job.shape.ffn / job.layout.tp, job.shape.hidden
        again += product(rate, job.tokens, n, k)[0]
    if modules & {"layernorm", "moe_act", "mla_up_proj"}:
        again += Work(memory=forward.memory / 4 * len(modules & {"layernorm", "moe_act"}))
    if "mla_up_proj" in modules and job.shape.mla:
        mla, a = job.shape.mla, job.shape.heads / job.layout.tp
        again += product(rate, job.tokens, a * (mla.qk_nope + mla.v_dim), mla.kv_lora)[0]
        if mla.q_lora:
            again += product(rate, job.tokens, a * (mla.qk_nope + mla.qk_rope), mla.q_lora)[0]
    return again
