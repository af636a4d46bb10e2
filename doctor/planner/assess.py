"""What one job costs: memory of every stage, step time, bubble, communication, use of the GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.planner.bubble import bubble
from doctor.planner.calibrate import Calibration
from doctor.planner.errors import PlanError, reason
from doctor.planner.flops import mfu
from doctor.planner.job import Job
from doctor.planner.legality import problems
from doctor.planner.memory.breakdown import StageMemory, memory
from doctor.planner.step_time import StepTime, step_time
from doctor.rulebase.model import Text

ROLES = ("tp", "cp", "ep", "dp", "pp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """stages: memory by pipeline stage; time: None where a figure of the GPU is not known, and `untimed` says which;
    problems: why the framework would refuse the job."""

    job: Job
    stages: tuple[StageMemory, ...]
    time: StepTime | None
    untimed: Text | None
    problems: tuple[Text, ...]

    @property
    def fullest(self) -> StageMemory:
        """The stage whose high end is highest."""
        return max(self.stages, key=lambda stage: stage.high)

    @property
    def fits(self) -> bool | None:
        """Does it fit? None where the range of the estimate holds the limit."""
        limit = self.job.cluster.gpu.memory
        if self.fullest.high <= limit:
            return True
        return False if any(stage.low > limit for stage in self.stages) else None

    @property
    def bubble(self) -> float:
        """Idle share of the pipelined part of a step, by the schedule."""
        layout = self.job.layout
        return bubble(self.job.schedule, layout.pp, self.job.micro_batches, layout.vpp)

    @property
    def exposed(self) -> dict[str, float]:
        """Seconds a step of communication that nothing hides, by role; roles that there are not are left out."""
        return {role: getattr(self.time, role) for role in ROLES if self.time and getattr(self.time, role) > 0}

    @property
    def mfu(self) -> float | None:
        """Model FLOP utilisation at the likely step time, 0 to 1."""
        if self.time is None or self.job.cluster.gpu.peak_bf16 is None:
            return None
        return mfu(self.job, self.time.likely)


def assess(job: Job, calibration: Calibration | None = None) -> Assessment:
    """All of it; with a calibration, step times are scaled to a measured one.

    Raises PlanError where layers do not fill the stages.
    """
    time, untimed = None, None
    try:
        time = step_time(job)
        if calibration:
            time = calibration.apply(job, time)
    except PlanError as error:
        untimed = error.text
    except ZeroDivisionError:  # nodes whose network is not known
        untimed = reason("reason.between_nodes")
    return Assessment(job=job, stages=memory(job), time=time, untimed=untimed, problems=problems(job))
