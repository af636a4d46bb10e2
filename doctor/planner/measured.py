"""The step time that a published measurement states, in whatever form it states it."""

from __future__ import annotations

from math import isfinite

from doctor.planner.flops import model_flops, recomputed_share
from doctor.planner.hardware import TERA
from doctor.planner.job import Job
from doctor.planner.records import Record

# Whose FLOP/s count half of the score matrix. Rows that state a rate and a time show which way it is: model_flops over
# both agrees to 1 % for these with a causal mask, for all others without one.
CAUSAL_COUNT = ("NVIDIA-NeMo/Megatron-Bridge", "yanring/Megatron-MoE-ModelZoo")


def measured_step(record: Record) -> tuple[float | None, str]:
    """Seconds of a step, or None and the reason why the record has none that can be compared.

    From `iter_s`, tokens a second and GPU, FLOP/s a GPU or MFU, in this order. FLOP/s and MFU count whole score
    matrices but for the publishers in CAUSAL_COUNT; where the record says that recomputation is counted as well, so
    does this.
    """
    job = record.job
    if job is None:
        return None, record.reason
    if record.raw.get("ambiguous") is True:
        return None, "ambiguous: one cell of the table holds two layouts"
    model = record.raw.get("model")
    if isinstance(model, dict) and model.get("arch_verified") is False:
        return None, "model.arch_verified is false: widths of the model are a guess"
    if other := next((line for line in record.assumed if " instead of " in line), ""):
        return None, f"the number format is not modelled: {other}"
    if not record.gpus_known:
        return None, "the number of GPUs is a guess"
    parallel = record.raw.get("parallel")
    if isinstance(parallel, dict) and "unstated" in str(parallel.get("vpp_note", "")):
        return None, "virtual pipeline stages are unstated: the bubble cannot be known"
    seconds = _seconds(record, job)
    if isinstance(seconds, str):
        return None, seconds
    if not (isfinite(seconds) and seconds > 0):
        return None, "the measured value is no positive number"
    return seconds, ""


def _seconds(record: Record, job: Job) -> float | str:
    unstated = next((line for line in record.assumed if line.startswith("global_batch")), "")
    if seconds := record.number("iter_s"):
        return f"step time without its batch: {unstated}" if unstated else seconds
    if tokens := record.number("tokens_s_gpu"):
        return job.global_batch * job.seq / (tokens * job.cluster.gpus)
    rate = record.number("tflops_per_gpu")
    percent = record.number("mfu")
    peak = job.cluster.gpu.peak_bf16
    if rate is None and percent and peak:
        rate = percent / 100 * peak / TERA
    if not rate:
        return "no step time, tokens a second, FLOP/s or MFU"
    train = record.raw.get("train")
    counted = isinstance(train, dict) and train.get("flops_include_recompute") is True
    again = 1 + recomputed_share(job) / 3 if counted else 1.0
    source = record.raw.get("source")
    causal = isinstance(source, dict) and source.get("repo") in CAUSAL_COUNT
    return model_flops(job, causal) * again / (rate * TERA * job.cluster.gpus)
