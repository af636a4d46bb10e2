"""What a change of settings would do to a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doctor.planner.assess import Assessment, assess
from doctor.planner.calibrate import Calibration
from doctor.planner.errors import PlanError
from doctor.planner.job import Job
from doctor.planner.knobs import apply, difference, known, read

# Settings that cut the saved states anew: a checkpoint of the old layout is not read by the new one as it is, except in
# formats that reshard when they are read (PyTorch DCP, Megatron-LM's torch_dist).
RESHARDS = frozenset({"tp", "pp", "vpp", "ep", "etp", "first", "last", "sharding", "stack", "shard", "optimizer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """before, after: the job without and with the change; changes: settings that differ, with both values."""

    before: Assessment
    after: Assessment
    changes: Mapping[str, tuple[Any, Any]]

    @property
    def reshards(self) -> bool:
        """Must a checkpoint be resharded?"""
        return bool(RESHARDS & set(self.changes))

    @property
    def batch_changes(self) -> bool:
        """Does an optimizer step see another number of sequences?"""
        return self.before.job.global_batch != self.after.job.global_batch

    @property
    def speed(self) -> float | None:
        """Step time after over before."""
        if self.before.time is None or self.after.time is None:
            return None
        return self.after.time.likely / self.before.time.likely


def effect(
    job: Job, patch: Mapping[str, Any], before: Assessment | None = None, calibration: Calibration | None = None
) -> Effect | None:
    """The effect of a patch in neutral names (a rule's `change: patch`); None where the planner knows none of its
    settings or none of them changes anything. Raises PlanError where the result is no job, or one that the framework
    refuses."""
    changes = readable(job, patch)
    after = apply(job, changes) if changes else job
    changed = difference(job, after)
    if not changed:
        return None
    before, result = before or assess(job, calibration), assess(after, calibration)
    new = [line for line in result.problems if line not in before.problems]
    if new:
        raise PlanError(new[0])
    return Effect(before=before, after=result, changes=changed)


def readable(job: Job, patch: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a patch that the planner knows, as it reads them; without those whose value is not known, and
    without accumulation that keeps the global batch as it is: that follows."""
    changes = dict(read(name, value) for name, value in patch.items() if known(name) and value is not None)
    steps = changes.get("grad_accum")
    if steps and steps * changes.get("micro_batch", job.micro_batch) * job.layout.dp == job.global_batch:
        del changes["grad_accum"]
    return changes
