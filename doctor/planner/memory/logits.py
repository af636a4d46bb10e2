"""Logits and the loss over the vocabulary."""

from __future__ import annotations

from doctor.planner.job import Job, Loss, Precision
from doctor.planner.parameters import padded_vocab

# B a logit at the peak of loss and its gradient, with 16-bit and with fp32 products.
# EAGER: log-softmax in fp32, the gradient of the loss and the gradient of the logits (4+4+4), after the logits are let
#   go (torch.nn.functional.cross_entropy on logits.float(), as torchtitan does it).
# VOCAB_PARALLEL, FUSED of Megatron-LM: 16-bit logits and one fp32 copy, worked on in place, or the fp32 softmax and its
#   16-bit gradient (core/tensor_parallel/cross_entropy.py, core/fusions/fused_cross_entropy.py); fp32 logits stay one.
# CHUNKED: only a chunk of the logits exists at a time (Liger kernel, arXiv 2410.10989, section 3.2; torchtitan).
BYTES = {Loss.EAGER: (12.0, 12.0), Loss.VOCAB_PARALLEL: (6.0, 4.0), Loss.FUSED: (6.0, 4.0), Loss.CHUNKED: (12.0, 12.0)}
CHUNKS = 8


def logits_bytes(job: Job, tokens: float) -> float:
    """B of logits and loss of one micro-batch of `tokens` tokens on one rank of the TP group."""
    whole = tokens * padded_vocab(job) / job.layout.tp
    if job.loss is Loss.CHUNKED:
        whole /= CHUNKS
    return whole * BYTES[job.loss][job.precision is Precision.FP32]
