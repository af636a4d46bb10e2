"""An announcement to hand to what acts on it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from doctor.engine.model import Role
from doctor.session.report import Report
from doctor.session.watch.model import Announcement, Kind
from tests.reports import oom_report


def said(
    key: str = "MEM001 rank:3", kind: Kind = Kind.NEW, at: float = 1_770_000_000.0, **other: object
) -> Announcement:
    """An announcement about a rank that ran out of memory."""
    report = the_report()
    finding = replace(report.diagnosis.roots[0], role=Role.ROOT)
    made = Announcement(kind, finding, report, at, at, finding.entities, key)
    return replace(made, **other)  # type: ignore[arg-type]


@cache
def the_report() -> Report:
    with TemporaryDirectory() as folder:
        return oom_report(Path(folder))
