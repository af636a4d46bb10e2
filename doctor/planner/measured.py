"""The step time that a published measurement states, in whatever form it states it."""

from __future__ import annotations

from math import isfinite

from doctor.planner.errors import reason
from doctor.planner.flops import model_flops, recomputed_share
from doctor.planner.hardware import TERA
from doctor.planner.job import Job
from doctor.planner.records import Record
from doctor.rulebase.model import Text

# Whose FLOP/s count half of the score matrix. Rows that state a rate and a time show which way it is: model_flops over
# both agrees to 1 % for these with a causal mask, for all others without one.
CAUSAL_COUNT = ("NVIDIA-NeMo/Megatron-Bridge", "yanring/Megatron-MoE-ModelZoo")


def measured_step(record: Record) -> tuple[float | None, Text | None]:
    """Seconds of a step, or None and the reason why the record has none that can be compared.

    From `iter_s`, tokens a second and GPU, FLOP/s a GPU or MFU, in this order. FLOP/s and MFU count whole score
    matrices but for the publishers in CAUSAL_COUNT; where the record says that recomputation is counted as well, so
    does this.
    """
    job = record.job
    if job is None:
        return None, record.reason
    if record.raw.get("ambiguous") is True:
        return None, reason("record.ambiguous")
    model = record.raw.get("model")
    if isinstance(model, dict) and model.get("arch_verified") is False:
        return None, reason("record.widths")
    if other := next((line for line in record.assumed if " instead of " in line), ""):
        return None, reason("record.format", assumed=other)
    if not record.gpus_known:
        return None, reason("record.gpus")
    parallel = record.raw.get("parallel")
    if isinstance(parallel, dict) and "unstated" in str(parallel.get("vpp_note", "")):
        return None, reason("record.vpp")
    seconds = _seconds(record, job)
    if isinstance(seconds, Text):
        return None, seconds
    if not (isfinite(seconds) and seconds > 0):
        return None, reason("record.no_number")
    return seconds, None


def _seconds(record: Record, job: Job) -> float | Text:
    unstated = next((line for line in record.assumed if line.startswith("global_batch")), "")
    if seconds := record.number("iter_s"):
        return reason("record.no_batch", assumed=unstated) if unstated else seconds
    if tokens := record.number("tokens_s_gpu"):
        return job.global_batch * job.seq / (tokens * job.cluster.gpus)
    rate = record.number("tflops_per_gpu")
    percent = record.number("mfu")
    peak = job.cluster.gpu.peak_bf16
    if rate is None and percent and peak:
        rate = percent / 100 * peak / TERA
    if not rate:
        return reason("record.no_speed")
    train = record.raw.get("train")
    counted = isinstance(train, dict) and train.get("flops_include_recompute") is True
    again = 1 + recomputed_share(job) / 3 if counted else 1.0
    source = record.raw.get("source")
    causal = isinstance(source, dict) and source.get("repo") in CAUSAL_COUNT
    return model_flops(job, causal) * again / (rate * TERA * job.cluster.gpus)
