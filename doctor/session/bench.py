"""Live collective tests, judged by the rules like files that were given."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.rulebase.load import Loaded
from doctor.session.analyze import Material, judge
from doctor.session.answers import Answers
from doctor.session.report import Report
from probes.live.collectives.facts import expectation, facts_of
from probes.live.collectives.measure import Request
from probes.live.collectives.model import OPERATIONS, Member, Result, Row
from probes.live.collectives.run import run
from probes.live.collectives.start import BenchError, Place, place_of

__all__ = [
    "OPERATIONS",
    "BenchError",
    "Member",
    "Place",
    "Request",
    "Result",
    "Row",
    "bench",
    "expectation",
    "judged",
    "launched",
]


def launched(environment: Mapping[str, str]) -> Place | None:
    """Which rank of many this process is, as its launcher says; raises BenchError."""
    return place_of(environment)


def bench(request: Request, python: str, backend: str, ranks: int | None, place: Place | None) -> Result | None:
    """The test; None on ranks but the first. Raises BenchError where it cannot start."""
    return run(request, python, backend, ranks, place)


def judged(result: Result, loaded: Loaded) -> Report:
    """What the rules say of it."""
    return judge(Material(loaded, (), tuple(facts_of(result)), (), ()), Answers())
