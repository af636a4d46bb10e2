"""Fits the constants of the step-time model: a coordinate search inside physical bounds, near a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from doctor.planner.constants import BOUNDS, Constants
from doctor.planner.errors import PlanError
from doctor.planner.flops import model_flops, recomputed_share
from doctor.planner.job import Job
from doctor.planner.prediction import Kind
from doctor.planner.records import Record
from doctor.planner.step_time import step_time

# Where the search starts and what it is drawn to: figures of benchmarks and papers, not of the records. BOUNDS and the
# docstring of Constants name their sources.
PRIOR = Constants(
    matmul_ampere=0.75, matmul_hopper=0.65, matmul_blackwell=0.65, matmul_ultra=0.65,
    fp8_hopper=0.6, fp8_blackwell=0.6, fp8_ultra=0.6,
    attention_ampere=0.55, attention_hopper=0.35, attention_fused=0.5, attention_blackwell=0.45,
    grouped=0.9, expert_rows=256.0, bandwidth=0.75, eager=2.0, experts_traffic=2.0,
    host_dense=2e-3, host_moe=5e-3, host_step=2e-2,
    tp_exposed=0.8, sp_exposed=0.5, ep_exposed=0.8, pp_exposed=0.3, contention=0.2, network=0.8,
)  # fmt: skip
PULL = 0.001  # loss for a constant that is a factor e away from its prior
OUTLIER = 0.7  # beyond this error, as a logarithm, a row pulls a seventh as strongly
HOST_WEIGHT = 0.2  # functional tests wait for the host, on many machines: they decide little but the host's constants
ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """A job and its measured step time in seconds."""

    record: Record
    job: Job
    seconds: float
    weight: float

    @property
    def group(self) -> str:
        """What is left out together: rows of one publisher, model and GPU."""
        return f"{self.record.file}|{self.job.shape.name}|{self.job.cluster.gpu.name}"


def fit(samples: Sequence[Sample], start: Constants = PRIOR) -> Constants:
    """Constants that bring predictions closest to the samples: one constant at a time by a step that shrinks where
    neither direction helps."""
    targets = _targets(samples)
    best, least = start, _loss(targets, start)
    steps = dict.fromkeys(BOUNDS, 0.15)
    for _ in range(ROUNDS):
        for name, (low, high) in BOUNDS.items():
            value = getattr(best, name)
            for factor in (1 + steps[name], 1 / (1 + steps[name])):
                tried = replace(best, **{name: min(high, max(low, value * factor))})
                loss = _loss(targets, tried)
                if loss < least - 1e-7:
                    best, least = tried, loss
                    break
            else:
                steps[name] /= 2
    return best


def _targets(samples: Sequence[Sample]) -> Mapping[Job, list[tuple[float, float]]]:
    """Logarithm of the measured time and weight of all samples of a job: repeats are predicted once."""
    found: dict[Job, list[tuple[float, float]]] = {}
    for one in samples:
        found.setdefault(one.job, []).append((log(one.seconds), one.weight))
    return found


def _loss(targets: Mapping[Job, list[tuple[float, float]]], constants: Constants) -> float:
    total = weights = 0.0
    for job, measured in targets.items():
        predicted = log(step_time(job, constants).likely)
        for seconds, weight in measured:
            error = abs(predicted - seconds)
            total += weight * (min(error, OUTLIER) + error / 7)
            weights += weight
    pull = sum(log(getattr(constants, name) / getattr(PRIOR, name)) ** 2 for name in BOUNDS)
    return total / max(weights, 1e-9) + PULL * pull


def sample_of(record: Record, seconds: float) -> Sample | None:
    """A sample for the fit; None where the job cannot be predicted."""
    if record.job is None:
        return None
    try:
        kind = step_time(record.job, PRIOR).kind
    except PlanError:
        return None
    return Sample(record, record.job, seconds, HOST_WEIGHT if kind is Kind.HOST else 1.0)


def utilisation(job: Job, seconds: float) -> float:
    """Share of the 16-bit peak that the job's FLOP make up, with a causal mask and with what is repeated."""
    gpu = job.cluster.gpu
    peak = gpu.peak_bf16 or gpu.known("peak_fp16")
    return model_flops(job, causal=True) * (1 + recomputed_share(job) / 3) / (seconds * job.cluster.gpus * peak)


def constant_utilisation(samples: Sequence[Sample], job: Job) -> float:
    """Seconds of a step if the job reached the median utilisation of the samples on its GPU in its number format; on
    another GPU in that format where there are none. What a rule of thumb would do, as the model's baseline."""
    bound = step_time(job, PRIOR).kind is Kind.HOST
    kin = [
        one
        for one in samples
        if one.job.precision is job.precision
        and bool(one.job.shape.moe) == bool(job.shape.moe)
        and (one.weight == HOST_WEIGHT) == bound
    ]
    same = [one for one in kin if one.job.cluster.gpu.name == job.cluster.gpu.name]
    rates = sorted(utilisation(one.job, one.seconds) for one in same or kin or samples)
    return utilisation(job, 1.0) / rates[len(rates) // 2]
