"""One measured step sets the machine's constant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.calibrate import TRUST_SEEN, calibrate
from doctor.planner.errors import PlanError
from doctor.planner.measured import measured_step
from doctor.planner.records import read_file
from doctor.planner.step_time import step_time
from tests.planner.support import job

PUBLISHED = {record.id: record for record in read_file(Path(__file__).parent / "data" / "published.yaml")}
ONE = job(tp=8, pp=4, sp=True)


@given(st.floats(0.2, 5))
def test_the_measured_job_is_predicted_as_measured(factor: float) -> None:
    found = step_time(ONE)
    again = calibrate(ONE, found.likely * factor).apply(ONE, found)
    assert again.likely == pytest.approx(found.likely * factor)
    assert sum(again.parts.values()) == pytest.approx(again.likely)
    assert again.low < again.likely < again.high


def test_the_range_narrows() -> None:
    found = step_time(ONE)
    again = calibrate(ONE, found.likely).apply(ONE, found)
    assert again.high / again.low < found.high / found.low


def test_another_layout_takes_over_a_part_of_the_factor() -> None:
    other = job(tp=4, pp=4, sp=True)
    plain = step_time(other).likely
    again = calibrate(ONE, step_time(ONE).likely * 1.44).apply(other, step_time(other)).likely
    assert plain < again < 1.44 * plain
    assert again == pytest.approx(1.44**TRUST_SEEN * plain)


def test_a_batch_that_is_cut_differently_keeps_the_whole_factor() -> None:
    one, two = (job(tp=8, pp=4, sp=True, micro_batch=size) for size in (2, 1))
    again = calibrate(one, step_time(one).likely * 1.44).apply(two, step_time(two)).likely
    assert again == pytest.approx(1.44 * step_time(two).likely)


def test_another_model_or_gpu_stays_as_it_was() -> None:
    calibration = calibrate(ONE, step_time(ONE).likely * 1.3)
    other = job("llama3-8b", 8)
    assert calibration.apply(other, step_time(other)) == step_time(other)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e-6, 1e9])
def test_what_cannot_be_a_step_of_the_job_is_refused(seconds: float) -> None:
    with pytest.raises(PlanError, match="measured step"):
        calibrate(ONE, seconds)


def test_a_sibling_of_a_published_run_is_nearer_after_calibration() -> None:
    """MPT-13B on eight A100s with full recomputation (llm-foundry): sequences of 4096 measured, of 1024 predicted."""
    base, sibling = (PUBLISHED[f"llmf-{name}-amp_bf16"] for name in ("088-13b-A100-8g-s4096", "090-13b-A100-8g-s1024"))
    seconds, measured = (measured_step(record)[0] for record in (base, sibling))
    assert base.job and sibling.job and seconds and measured
    plain = step_time(sibling.job)
    near = calibrate(base.job, seconds).apply(sibling.job, plain)
    assert near.low <= measured <= near.high
    assert abs(near.likely / measured - 1) < 0.07 < abs(plain.likely / measured - 1)
