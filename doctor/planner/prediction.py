"""How far the measured step time lay from the predicted one, by kind of job: the range of a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from doctor.planner.job import Job, Precision


class Kind(StrEnum):
    """Jobs whose step times are predicted equally well."""

    DENSE = "dense"
    FP8 = "fp8"
    MOE = "moe"
    HOST = "host"  # the GPU mostly waits for the host: tiny layers


# Measured over predicted time: bounds that held 90 % and more of the rows that were left out of the fit, by kind
# (docs/accuracy.md, cross-validation). CALIBRATED: after one measured step of the same model on the same GPU.
RANGES: Mapping[Kind, tuple[float, float]] = {
    Kind.DENSE: (0.85, 1.22),
    Kind.FP8: (0.84, 1.25),
    Kind.MOE: (0.5, 1.7),
    Kind.HOST: (0.5, 3.1),
}
CALIBRATED: Mapping[Kind, tuple[float, float]] = {
    Kind.DENSE: (0.9, 1.14),
    Kind.FP8: (0.89, 1.18),
    Kind.MOE: (0.82, 1.6),
    Kind.HOST: (0.65, 2.0),
}
# GPUs with rows among those of the fit; others have generations' constants, and a wider range (docs/accuracy.md, GPUs
# left out one by one).
SEEN = ("A100", "H100", "H200", "B200", "GB200", "B300", "GB300")
UNSEEN = (0.7, 1.5)
MOSTLY = 0.5  # share of the step from which waiting for the host decides


def kind_of(job: Job, host_share: float) -> Kind:
    """host_share: of the step's time, 0 to 1."""
    if host_share > MOSTLY:
        return Kind.HOST
    if job.shape.moe:
        return Kind.MOE
    return Kind.FP8 if job.precision is Precision.FP8 else Kind.DENSE


def seen(job: Job) -> bool:
    """Were measurements on this GPU among those of the fit?"""
    return job.cluster.gpu.name.split("-")[0] in SEEN and "PCIe" not in job.cluster.gpu.name


def range_of(job: Job, kind: Kind) -> tuple[float, float]:
    """Factors on the likely time."""
    low, high = RANGES[kind]
    return (low, high) if seen(job) else (min(low, UNSEEN[0]), max(high, UNSEEN[1]))
