"""A watch that nothing was read of: nobody knows whether such a job is healthy."""

from __future__ import annotations

from dataclasses import replace

from doctor.engine.model import Verdict
from doctor.session.report import Report


def unheard(report: Report) -> bool:
    """Was no file of the job read, and does nothing else show what is wrong with it?"""
    return not any(given.kind for given in report.inputs) and not report.diagnosis.roots


def honest(report: Report) -> Report:
    """The report, which calls no job healthy that was not heard of."""
    if report.diagnosis.verdict is not Verdict.HEALTHY or not unheard(report):
        return report
    return replace(report, diagnosis=replace(report.diagnosis, verdict=Verdict.UNDETERMINED))
