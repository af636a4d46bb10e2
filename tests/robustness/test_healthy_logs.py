"""A thousand benign warnings in a healthy log raise no alarm."""

from __future__ import annotations

import random

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.rulebase.model import RuleBase
from studies.healthy import alarms
from studies.robustness import diagnosed
from tests.robustness import benign, healthy
from tests.robustness.edits import Files


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rulebase().base


@pytest.mark.parametrize("name", healthy.FORMS)
def test_a_healthy_log_full_of_warnings_is_healthy(name: str, base: RuleBase) -> None:
    report = diagnosed(Files({"job.log": healthy.log(healthy.FORMS[name], random.Random(name))}), base)
    assert alarms(report) == []
    assert report.diagnosis.verdict == "healthy"


def test_every_warning_is_harmless_by_itself(base: RuleBase) -> None:
    lines = [benign._filled(template, random.Random(0)) for template in benign.TEMPLATES + benign.HINTS]
    own = [f"iter {step}: loss {3 - step / 500:.4f}, time 412.10ms, mfu 41.20%" for step in range(1, len(lines) + 1)]
    text = "\n".join(line for pair in zip(own, lines, strict=True) for line in pair) + "\n" + own[-1] + "\n"
    assert alarms(diagnosed(Files({"job.log": text}), base)) == []


def test_a_fault_among_the_warnings_is_still_found(base: RuleBase) -> None:
    text = (
        healthy.log(healthy.FORMS["nanoGPT"], random.Random(1))
        + "NVRM: Xid (PCI:0000:9c:00): 79, pid=1, GPU has fallen off the bus.\n"
    )
    assert alarms(diagnosed(Files({"job.log": text}), base))
