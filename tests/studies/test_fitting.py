"""The fit of the step-time model's constants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.planner.constants import BOUNDS
from doctor.planner.job import Job
from doctor.planner.records import Record, read_record
from doctor.planner.step_time import step_time
from studies.fitting import PRIOR, Sample, constant_utilisation, fit, utilisation
from tests.planner.support import job

NOBODY: Record = read_record({"id": "made", "kind": "measured"})


def samples(jobs: list[Job], **truth: float) -> list[Sample]:
    return [Sample(NOBODY, one, step_time(one, replace(PRIOR, **truth)).likely, 1.0) for one in jobs]


JOBS = [job("llama3-8b", 8, seq=seq, global_batch=64, micro_batch=micro) for seq in (1024, 8192) for micro in (1, 4)]


def test_a_fit_predicts_what_it_was_fitted_on() -> None:
    """Not by the same constants: other ones do nearly the same for few jobs, and the prior draws all of them."""
    slow = samples(JOBS, matmul_ampere=0.5)
    found = fit(slow)
    assert found.matmul_ampere < PRIOR.matmul_ampere
    for one in slow:
        assert step_time(one.job, found).likely == pytest.approx(one.seconds, rel=0.1)


def test_a_fit_stays_within_physics() -> None:
    found = fit([replace(one, seconds=one.seconds / 10) for one in samples(JOBS)])
    assert all(low <= getattr(found, name) <= high for name, (low, high) in BOUNDS.items())


def test_perfect_samples_leave_the_prior_alone() -> None:
    assert fit(samples(JOBS)) == PRIOR


def test_constant_utilisation_is_the_median_of_the_same_gpu() -> None:
    known = samples(JOBS)
    rates = sorted(utilisation(one.job, one.seconds) for one in known)
    assert utilisation(JOBS[0], constant_utilisation(known, JOBS[0])) == pytest.approx(rates[2])
