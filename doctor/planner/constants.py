"""The constants of the step-time model: what hardware and software reach of what they could.

All are shares of a physical limit (0 to 1), traffic relative to the least possible (at least 1), counts, or seconds of
the host. They were fitted together on published measurements, without a hold-out; docs/accuracy.md says on which, and
how far off they leave the rest; `python -m studies.step_time FOLDER` fits them again. BOUNDS are limits of physics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Fitted values, and what they were fitted on.

    matmul_*: share of the 16-bit peak that large matrix products keep up over a step, by generation of the GPU; at most
    what a benchmark of products reaches. Ampere: llm-foundry, SC21, torchtitan; Hopper: llm-foundry, torchtitan,
    Megatron; Blackwell: SimuMax's truncated models alone, for nearly all other rows there are in FP8; ultra (B300,
    GB300): the output heads of jobs in FP8. fp8_*: the same share of the FP8 peak (Megatron-Bridge, torchtitan).
    attention_*: share of the 16-bit peak in the core of attention. Ampere and Hopper: llm-foundry (FlashAttention with
    ALiBi) and torchtitan; fused: cuDNN's kernels on Hopper, in Megatron's stacks; Blackwell: SimuMax, Megatron-Bridge.
    grouped: rate of the experts' products relative to plain ones, for many rows; expert_rows: rows an expert with which
    half of it is reached. bandwidth: share of the memory bandwidth in memory-bound operators. eager: their traffic
    without fused kernels, relative to fused ones (llm-foundry). experts_traffic: traffic of permuting tokens into the
    experts' order and back, relative to reading and writing every copy once a direction. host_dense, host_moe: seconds
    of the host for one layer, forward and backward, without CUDA graphs, that the GPU waits for where its own work is
    shorter (Megatron's functional tests, SimuMax, Qwen3-30B with one sequence); host_step: seconds of the host a step.
    tp_exposed, sp_exposed, ep_exposed, pp_exposed: share of these transfers that nothing hides; sp for Megatron's with
    sequence parallelism, which overlaps them with products. contention: share of a hidden transfer's time by which it
    delays the work that hides it. network: share of the wire rate that collectives keep up with all nodes at work,
    beside what a benchmark reaches.
    """

    matmul_ampere: float = 0.764
    matmul_hopper: float = 0.598
    matmul_blackwell: float = 0.427
    matmul_ultra: float = 0.482
    fp8_hopper: float = 0.651
    fp8_blackwell: float = 0.541
    fp8_ultra: float = 0.703
    attention_ampere: float = 0.309
    attention_hopper: float = 0.174
    attention_fused: float = 0.564
    attention_blackwell: float = 0.41
    grouped: float = 0.783
    expert_rows: float = 236.0
    bandwidth: float = 0.634
    eager: float = 1.26
    experts_traffic: float = 3.06
    host_dense: float = 0.00463
    host_moe: float = 0.0058
    host_step: float = 0.0463
    tp_exposed: float = 1.0
    sp_exposed: float = 0.265
    ep_exposed: float = 0.425
    pp_exposed: float = 0.28
    contention: float = 0.18
    network: float = 1.0


BOUNDS: Mapping[str, tuple[float, float]] = {
    "matmul_ampere": (0.3, 0.87),  # best measured product 271 of 312 (stas00/ml-engineering, compute/accelerator)
    "matmul_hopper": (0.3, 0.80),  # 794 of 989
    "matmul_blackwell": (0.3, 0.78),  # 1745 of 2250
    "matmul_ultra": (0.3, 0.78),
    "fp8_hopper": (0.3, 0.80),
    "fp8_blackwell": (0.3, 0.80),
    "fp8_ultra": (0.3, 0.80),
    "attention_ampere": (0.1, 0.73),  # FlashAttention-2 reaches 73 % on A100 (arXiv 2307.08691, section 4.1)
    "attention_hopper": (0.1, 0.40),  # and 35 % on H100 (arXiv 2407.08608, section 1)
    "attention_fused": (0.1, 0.75),  # FlashAttention-3: up to 75 % (arXiv 2407.08608, abstract)
    "attention_blackwell": (0.1, 0.75),
    "grouped": (0.2, 1.0),
    "expert_rows": (16.0, 2048.0),
    "bandwidth": (0.3, 0.95),
    "eager": (1.0, 4.0),
    "experts_traffic": (1.0, 8.0),
    "host_dense": (1e-4, 1e-2),
    "host_moe": (1e-4, 2e-2),
    "host_step": (0.0, 0.2),
    "tp_exposed": (0.0, 1.0),
    "sp_exposed": (0.0, 1.0),
    "ep_exposed": (0.0, 1.0),
    "pp_exposed": (0.0, 1.0),
    "contention": (0.0, 1.0),
    "network": (0.2, 1.0),
}

FITTED = Constants()

assert set(BOUNDS) == {field.name for field in fields(Constants)}
