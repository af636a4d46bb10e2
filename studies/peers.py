"""Other tools' estimates of the same jobs, from checkouts of their repositories. Nothing of theirs is part of ours."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from doctor.planner.accuracy import Errors, Row, errors
from doctor.planner.evaluate import GIB
from doctor.planner.job import Job, Precision, Recompute, Sharding, Stack
from doctor.planner.memory.breakdown import memory
from doctor.planner.parameters import padded_vocab
from doctor.planner.records import Record
from doctor.planner.step_time import step_time
from studies import accuracy_words as words
from studies.fitting import Sample
from studies.table import table

EFFICIENCIES = tuple(share / 100 for share in range(20, 96, 3))


def llm_analysis(checkout: Path) -> Callable[[Job, float], tuple[float, float]]:
    """Its estimate of a job with an efficiency: seconds of a step and B of the peak."""
    sys.modules.setdefault("fire", types.ModuleType("fire"))  # its command line alone needs that
    sys.path.insert(0, str(checkout))
    from llm_analysis import analysis, config  # type: ignore[import-not-found]

    logging.disable(logging.WARNING)

    def estimate(job: Job, efficiency: float) -> tuple[float, float]:
        shape, layout, gpu = job.shape, job.layout, job.cluster.gpu
        model = config.ModelConfig(
            name=shape.name, num_layers=shape.layers, n_head=shape.heads, hidden_dim=shape.hidden,
            vocab_size=shape.vocab, max_seq_len=job.seq, num_key_value_heads=shape.kv_heads, ffn_embed_dim=shape.ffn,
            mlp_gated_linear_units=shape.gated,
        )  # fmt: skip
        machine = config.GPUConfig(
            name=gpu.name, mem_per_GPU_in_GB=gpu.memory / GIB,
            hbm_bandwidth_in_GB_per_sec=gpu.known("memory_bandwidth") / 1e9,
            intra_node_bandwidth_in_GB_per_sec=gpu.known("nvlink") / 1e9, intra_node_min_message_latency=8e-6,
            peak_fp16_TFLOPS=(gpu.peak_bf16 or gpu.known("peak_fp16")) / 1e12,
            inter_node_bandwidth_in_GB_per_sec=job.cluster.nic_bandwidth / 1e9 or 200,
        )  # fmt: skip
        parallel = config.ParallelismConfig(
            tp_size=layout.tp, pp_size=layout.pp, dp_size=layout.dp, sp_size=layout.tp if layout.sp else 1
        )
        stage = {Sharding.NONE: 0, Sharding.OPTIMIZER: 1, Sharding.GRADIENTS: 2, Sharding.FULL: 3}[job.sharding]
        again = {Recompute.NONE: 0, Recompute.SELECTIVE: 1, Recompute.FULL: 4}[job.recompute]
        with contextlib.redirect_stdout(io.StringIO()):
            found = analysis.LLMAnalysis(
                model, machine, config.DtypeConfig(), parallel, flops_efficiency=efficiency, hbm_memory_efficiency=0.9
            ).training(
                batch_size_per_gpu=job.micro_batch, gradient_accumulation_steps=job.micro_batches, seq_len=job.seq,
                activation_recomputation=analysis.ActivationRecomputation(again), ds_zero=analysis.DSZeRO(stage),
            )  # fmt: skip
        return float(found["latency_per_iter"]), float(found["estimated_peak_memory_per_gpu"])

    return estimate


def can_llm_analysis(job: Job) -> bool:
    """Has it a model for such a job?"""
    return (
        job.shape.moe is None and job.shape.mla is None and job.precision is not Precision.FP8 and job.layout.cp == 1
        and job.recompute in (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
        and job.recompute_layers is None and job.shape.layers % job.layout.pp == 0
        and bool(job.cluster.gpu.nvlink and job.cluster.gpu.memory_bandwidth)
    )  # fmt: skip


def megatron(checkout: Path) -> Callable[[Job], float]:
    """Megatron-LM's theoretical memory of a job in B (megatron/training/theoretical_memory_usage.py)."""
    text = (checkout / "megatron/training/theoretical_memory_usage.py").read_text(encoding="utf-8")
    package = types.ModuleType("theirs")
    utils = types.ModuleType("theirs.utils")
    vars(utils).update(is_hybrid_model=lambda args: False, print_rank_0=lambda text: None)
    sys.modules.update({"theirs": package, "theirs.utils": utils})
    scope: dict[str, Any] = {"__name__": "theirs.memory", "__package__": "theirs"}
    exec(compile(text, "theoretical_memory_usage.py", "exec"), scope)

    def estimate(job: Job) -> float:
        with contextlib.redirect_stdout(io.StringIO()):
            found = scope["report_theoretical_memory"](_arguments(job), num_microbatches=job.micro_batches)
        return float(found[2]) * 2**20

    return estimate


def _arguments(job: Job) -> types.SimpleNamespace:
    shape, layout, moe = job.shape, job.layout, job.shape.moe
    return types.SimpleNamespace(
        kv_channels=shape.head_dim, num_attention_heads=shape.heads, hidden_size=shape.hidden,
        group_query_attention=True, num_query_groups=shape.kv_heads, num_layers=shape.layers,
        num_experts=moe.experts if moe else None, swiglu=shape.gated, ffn_hidden_size=shape.ffn,
        moe_ffn_hidden_size=moe.ffn if moe else None, moe_router_topk=moe.topk if moe else 0,
        moe_shared_expert_intermediate_size=moe.shared_ffn or None if moe else None, moe_latent_size=None,
        moe_layer_freq=[int(shape.is_moe(layer)) for layer in range(shape.layers)], mtp_num_layers=None,
        normalization="RMSNorm" if shape.norm.value == "rms" else "LayerNorm", multi_latent_attention=False,
        padded_vocab_size=padded_vocab(job), untie_embeddings_and_output_weights=not shape.tied,
        add_bias_linear=shape.bias, expert_tensor_parallel_size=layout.etp, expert_model_parallel_size=layout.ep,
        pipeline_model_parallel_size=layout.pp, tensor_model_parallel_size=layout.tp, world_size=layout.world,
        data_parallel_size=layout.dp * layout.cp, use_distributed_optimizer=job.sharding is not Sharding.NONE,
        seq_length=job.seq // layout.cp, micro_batch_size=job.micro_batch,
        virtual_pipeline_model_parallel_size=layout.vpp if layout.vpp > 1 else None,
        sequence_parallel=layout.sp or layout.tp == 1, recompute_granularity="selective",
    )  # fmt: skip


def time_section(samples: Sequence[Sample], checkout: Path) -> str:
    """Step times of llm-analysis beside ours on the rows that it can run."""
    estimate = llm_analysis(checkout)
    able = [one for one in samples if can_llm_analysis(one.job) and step_time(one.job).kind == "dense"]
    best = {name: _best(estimate, [one for one in able if one.job.cluster.gpu.name == name]) for name in _gpus(able)}
    theirs = [_row(one.record, estimate(one.job, best[one.job.cluster.gpu.name])[0], one.seconds) for one in able]
    ours = [_row(one.record, step_time(one.job).likely, one.seconds) for one in able]
    dense = sum(step_time(one.job).kind == "dense" for one in samples)
    return words.PEER_TIME.format(
        able=len(able),
        dense=dense,
        left_out=words.LLM_ANALYSIS_LEFT_OUT,
        best=", ".join(f"{name} {share:.2f}" for name, share in best.items()),
        table=table(HEAD, [_cells("llm-analysis", errors(theirs)), _cells("this planner", errors(ours))]),
    )


def memory_section(records: Iterable[Record], llm_checkout: Path, megatron_checkout: Path) -> str:
    """Peaks of allocated memory of both tools beside ours on the same rows of 8 GiB and more."""
    theirs, other = llm_analysis(llm_checkout), megatron(megatron_checkout)
    lines = []
    able = [(record, record.job, gib * GIB) for record, gib in _measured(records) if record.job]
    first = [entry for entry in able if can_llm_analysis(entry[1])]
    second = [entry for entry in able if entry[1].stack is Stack.MEGATRON and entry[1].shape.mla is None]
    for name, rows, function in (
        ("llm-analysis", first, lambda job: theirs(job, 0.5)[1]),
        ("Megatron-LM's theoretical estimate", second, other),
    ):
        lines.append(_cells(name, errors(_row(record, function(job), size) for record, job, size in rows)))
        ours = errors(_row(record, max(peak.allocated for peak in memory(job)), size) for record, job, size in rows)
        lines.append(_cells("this planner on these rows", ours))
    return words.PEER_MEMORY.format(
        able=len(able), left_out=words.LLM_ANALYSIS_LEFT_OUT, megatron=words.MEGATRON_LEFT_OUT, table=table(HEAD, lines)
    )


HEAD = ("tool", "rows", "median", "p90", "bias")


def _measured(records: Iterable[Record]) -> Iterable[tuple[Record, float]]:
    for record in records:
        gib = record.number("mem_gib_allocated")
        if record.is_measured and record.gpus_known and gib and gib >= 8:
            yield record, gib


def _gpus(samples: Sequence[Sample]) -> list[str]:
    return sorted({one.job.cluster.gpu.name for one in samples})


def _best(estimate: Callable[[Job, float], tuple[float, float]], samples: Sequence[Sample]) -> float:
    def median(share: float) -> float:
        found = errors(_row(one.record, estimate(one.job, share)[0], one.seconds) for one in samples)
        return found.median if found else 0.0

    return min(EFFICIENCIES, key=median)


def _row(record: Record, predicted: float, measured: float) -> Row:
    return Row(
        id=record.id, file=record.file, kind="", held_out=record.held_out, predicted=predicted, measured=measured
    )


def _cells(name: str, found: Errors | None) -> tuple[str, ...]:
    if found is None:
        return (name, "0", "-", "-", "-")
    return (name, str(found.n), f"{found.median:.1%}", f"{found.p90:.1%}", f"{found.bias:+.1%}")
