"""The constants of the step-time model: what hardware and software reach of what they could.

All are shares of a physical limit (0 to 1), byte counts relative to the least possible traffic (at least 1), or seconds
a call. They were fitted together on the published measurements of `pdoctor plan --evaluate`'s folder, without its
hold-out (docs/accuracy.md says how, on what, and how far off they leave it); `python -m studies.step_time` fits them
again. BOUNDS are limits of physics, not of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """matmul_*: share of the peak that large matrix products keep up over a step, by generation of the GPU; mamf, the
    best that a benchmark reaches, bounds it. matmul_fp8: the same share for FP8 products, relative to bf16's.
    attention_*: share of the peak in the core of attention, by generation and kernel. grouped: rate of the experts'
    products relative to plain ones. bandwidth: share of the memory bandwidth in memory-bound operators. eager: their
    traffic without fused kernels, relative to fused ones. experts_traffic: traffic of router, permutation and its
    reversal relative to reading and writing every copy once. host_dense, host_moe: seconds of the host for one layer,
    forward and backward, that the GPU waits for where its own work is shorter; host_step: seconds of the host a step.
    tp_exposed, ep_exposed, pp_exposed: share of these transfers that nothing hides. contention: share of a hidden
    transfer's time by which it delays the work that hides it. network: share of the wire rate that collectives keep up
    with all nodes at work, beside what a benchmark reaches.
    """

    matmul_ampere: float = 0.76
    matmul_hopper: float = 0.581
    matmul_blackwell: float = 0.431
    matmul_ultra: float = 0.573
    fp8_hopper: float = 0.645
    fp8_blackwell: float = 0.541
    fp8_ultra: float = 0.693
    attention_ampere: float = 0.309
    attention_hopper: float = 0.181
    attention_fused: float = 0.585
    attention_blackwell: float = 0.406
    grouped: float = 0.805
    expert_rows: float = 220.0
    bandwidth: float = 0.64
    eager: float = 1.26
    experts_traffic: float = 3.5
    host_dense: float = 0.0035
    host_moe: float = 0.00472
    host_groups: float = 1.84
    host_step: float = 0.0532
    tp_exposed: float = 1.0
    sp_exposed: float = 0.266
    ep_exposed: float = 0.457
    pp_exposed: float = 0.285
    contention: float = 0.156
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
    "host_groups": (1.0, 2.0),
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
