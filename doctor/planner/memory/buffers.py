"""Buffers beside states and activations: stand-in gradients, buckets, workspaces."""

from __future__ import annotations

from doctor.planner.job import Job, Precision, Sharding, Stack
from doctor.planner.memory.activations import word
from doctor.planner.memory.overhead import MIB
from doctor.planner.memory.states import is_fsdp
from doctor.planner.parameters import RankParameters, layer_on_rank, layer_parameters, padded_vocab
from doctor.planner.stages import Chunk, alike

WORKSPACE = 64 * MIB  # cuBLAS: 32 MiB a stream on Hopper and later (TransformerEngine, module/base.py), two in use
ZERO3_LIVE = 1e9  # DeepSpeed stage3_max_live_parameters, elements
ZERO_BUCKET = 5e8  # DeepSpeed reduce_bucket_size and allgather_bucket_size, elements


def buffers(job: Job, chunks: tuple[Chunk, ...], held: RankParameters) -> float:
    """B of buffers on a rank, all the time; what FSDP gathers comes and goes (doctor.planner.memory.moments)."""
    if is_fsdp(job):
        return WORKSPACE
    if job.stack is Stack.DEEPSPEED:
        return _deepspeed(job, held) + WORKSPACE
    if job.stack in (Stack.DDP, Stack.FSDP):
        cast = 2.0 if job.master_weights and job.precision is not Precision.FP32 else 0.0  # autocast's cache
        return held.total * (4.0 + cast) + WORKSPACE  # buckets beside the gradients (torch.nn.parallel, reducer)
    return _megatron(job, chunks) + _fp8_weights(job, held) + WORKSPACE


def kinds(job: Job, chunks: tuple[Chunk, ...]) -> dict[bool, int]:
    """One layer's number for each kind of layer on a rank: with experts, without."""
    shape = job.shape
    return {shape.is_moe(n): n for chunk in chunks for n, _ in alike(shape, chunk.first, chunk.layers)}


def widest_matrix(job: Job) -> float:
    """Elements of the largest matrix of a layer on one rank."""
    shape, two = job.shape, 2 if job.shape.gated else 1
    inner = two * max(shape.ffn, shape.moe.ffn if shape.moe else 0)
    return shape.hidden * max(inner, shape.head_dim * (shape.heads + 2 * shape.kv_heads)) / job.layout.tp


def _megatron(job: Job, chunks: tuple[Chunk, ...]) -> float:
    """Stand-in gradients and the gathered input.

    With gradient accumulation fused into the products, Transformer Engine hands autograd an unused gradient for each
    shape of a weight and keeps it (module/base.py, get_dummy_wgrad); Megatron-LM's head takes one too
    (core/tensor_parallel/layers.py). Sequence parallelism gathers inputs into one
    buffer (Megatron-LM, core/utils.py, GlobalMemoryBuffer).
    """
    shape, layout = job.shape, job.layout
    layers = kinds(job, chunks)
    total = 0.0
    if job.fused_grads and layers:
        found = [layer_parameters(shape, layer) for layer in layers.values()]
        total += 2.0 * (found[0].query_output + found[0].key_value + sum({one.mlp for one in found})) / layout.tp
        if True in layers and shape.moe:
            total += 2.0 * layer_on_rank(job, layers[True])[1] * layout.ep / shape.moe.experts
    if job.fused_grads and any(chunk.head for chunk in chunks):
        total += 2.0 * padded_vocab(job) * shape.hidden / layout.tp
    if layout.sp:
        total += word(job) * job.tokens * shape.hidden
    return total


def _fp8_weights(job: Job, held: RankParameters) -> float:
    """16-bit parameters of FP8 products are cast once a step and kept for all micro-batches, as they are and transposed
    (TransformerEngine, module/base.py, get_weight_workspace)."""
    return 2.0 * (held.layers + held.experts) if job.precision is Precision.FP8 and not job.fp8_parameters else 0.0


def _deepspeed(job: Job, held: RankParameters) -> float:
    """Buckets, and with ZeRO-3 parameters that are gathered (DeepSpeed, runtime/zero/config.py, defaults)."""
    bucket = 2 * 2.0 * min(ZERO_BUCKET, held.total)
    if job.sharding is Sharding.FULL:
        return bucket + 2.0 * min(ZERO3_LIVE, held.total)
    return bucket
