"""One measured step of the user's own job sets the machine's constant."""

from __future__ import annotations

from dataclasses import dataclass, replace

from doctor.planner.constants import FITTED, Constants
from doctor.planner.errors import PlanError, reason
from doctor.planner.job import Job
from doctor.planner.prediction import CALIBRATED, seen
from doctor.planner.shape import Shape
from doctor.planner.step_time import PARTS, StepTime, step_time

# How much of the measured factor carries over to other layouts, as an exponent: a part of it belongs to the layout that
# was measured, the more so where measurements on that GPU went into the constants.
TRUST_SEEN, TRUST_UNSEEN = 0.5, 0.85
FARTHEST = 10.0  # a step that is ten times off is another job, or another unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """factor: measured over predicted time of the job that was measured; trust: exponent with which it carries over to
    other layouts."""

    job: Job
    factor: float
    trust: float

    def apply(self, job: Job, found: StepTime) -> StepTime:
        """The prediction for another layout of the same model on the same kind of GPU: all parts scaled, and a
        narrower range. The measured job itself comes back with its measured time; where only its batch is cut
        differently, its layout is still there, and the whole factor stays. For another model or GPU the measured step
        says too little: it comes back as it was."""
        if _layer(job.shape) != _layer(self.job.shape) or job.cluster.gpu != self.job.cluster.gpu:
            return found
        alike = replace(job, micro_batch=self.job.micro_batch, global_batch=self.job.global_batch)
        factor = self.factor ** (1.0 if alike == self.job else self.trust)
        scaled = replace(found, **{name: getattr(found, name) * factor for name in PARTS})
        low, high = CALIBRATED[found.kind]
        return replace(scaled, low=scaled.likely * low, high=scaled.likely * high)


def _layer(shape: Shape) -> tuple[object, ...]:
    """What decides the work of a layer: models that differ in depth, vocabulary or name alone are siblings."""
    return shape.hidden, shape.heads, shape.kv_heads, shape.head_dim, shape.ffn, shape.moe, shape.mla


def calibrate(job: Job, seconds: float, constants: Constants = FITTED) -> Calibration:
    """Calibration by one measured step of the job, in seconds. Raises PlanError where that cannot be its time."""
    if not 0 < seconds < float("inf"):
        raise PlanError(reason("reason.measured", seconds=seconds))
    likely = step_time(job, constants).likely
    if not 1 / FARTHEST < seconds / likely < FARTHEST:
        raise PlanError(
            reason("reason.measured.far", seconds=f"{seconds:g}", likely=f"{likely:.3g}", factor=f"{FARTHEST:g}")
        )
    return Calibration(job=job, factor=seconds / likely, trust=TRUST_SEEN if seen(job) else TRUST_UNSEEN)
