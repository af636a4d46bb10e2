"""Logits and the loss over the vocabulary."""

from __future__ import annotations

from doctor.planner.job import Job, Loss, Precision, Stack
from doctor.planner.memory.activations import word
from doctor.planner.parameters import padded_vocab

# B a logit at the peak of loss and its gradient, with 16-bit and with fp32 products.
# EAGER: log-softmax in fp32, the gradient of the loss and the gradient of the logits (4+4+4), after the logits are let
#   go (torch.nn.functional.cross_entropy on logits.float(), as torchtitan does it).
# VOCAB_PARALLEL of Megatron-LM: 16-bit logits and one fp32 copy, worked on in place (core/tensor_parallel/
#   cross_entropy.py), or the fp32 softmax and its 16-bit gradient (core/fusions/fused_cross_entropy.py); fp32 logits
#   stay one.
# FUSED: 16-bit logits and their gradient, of a kernel that keeps fp32 in registers (TransformerEngine, pytorch/triton/
#   cross_entropy.py; flash-attention, losses/cross_entropy.py).
# CHUNKED: only a chunk of the logits exists at a time (Liger kernel, arXiv 2410.10989, section 3.2; torchtitan).
BYTES = {Loss.EAGER: (12.0, 12.0), Loss.VOCAB_PARALLEL: (6.0, 4.0), Loss.FUSED: (4.0, 8.0), Loss.CHUNKED: (12.0, 12.0)}
CHUNKS = 8


def logits_bytes(job: Job, tokens: float) -> float:
    """B of logits and loss of one micro-batch of `tokens` tokens on one rank of the TP group, at their widest.

    In Megatron, where gradients do not add up in the products themselves, the head's product then leaves a gradient of
    its matrix beside the logits' own (core/tensor_parallel/layers.py, LinearWithGradAccumulation).
    """
    rows = padded_vocab(job) / job.layout.tp
    whole = tokens * rows
    if job.loss is Loss.CHUNKED:
        whole /= CHUNKS
    at_loss = whole * BYTES[job.loss][job.precision is Precision.FP32]
    if job.stack is not Stack.MEGATRON or job.fused_grads or job.lora_rank:
        return at_loss
    return max(at_loss, word(job) * (whole + rows * job.shape.hidden))
