"""Live collective tests, judged by the rules like files that were given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from doctor.facts.model import Fact
from doctor.rulebase.load import Loaded
from doctor.session.analyze import Material, judge
from doctor.session.answers import Answers
from doctor.session.report import Report
from probes.live.collectives.facts import common, expectation, facts_of
from probes.live.collectives.layout import Layout, LayoutError, parsed
from probes.live.collectives.measure import Request
from probes.live.collectives.model import OPERATIONS, GroupRow, Member, Result, Row
from probes.live.collectives.run import run
from probes.live.collectives.start import BenchError, Place, place_of

__all__ = [
    "OPERATIONS",
    "BenchError",
    "GroupRow",
    "Layout",
    "LayoutError",
    "Member",
    "Place",
    "Request",
    "Result",
    "Row",
    "bench",
    "common",
    "expectation",
    "judged",
    "launched",
    "layout_of",
    "parsed",
    "payloads_of",
]


def launched(environment: Mapping[str, str]) -> Place | None:
    """Which rank of many this process is, as its launcher says; raises BenchError."""
    return place_of(environment)


def bench(request: Request, python: str, backend: str, ranks: int | None, place: Place | None) -> Result | None:
    """The test; None on ranks but the first. Raises BenchError where it cannot start."""
    return run(request, python, backend, ranks, place)


def layout_of(facts: Iterable[Fact]) -> Layout | None:
    """How the job's configuration cuts its ranks into groups; None where it names no degree."""
    tp, cp, ep, etp, pp = (int(_number(facts, f"config.{name}")) for name in ("tp", "cp", "ep", "etp", "pp"))
    return Layout(tp or 1, cp or 1, ep or 1, etp, pp or 1) if any((tp, cp, ep, etp, pp)) else None


def payloads_of(facts: Iterable[Fact], layout: Layout) -> dict[str, int]:
    """B that the groups of each role move at a time in training, as far as the configuration tells.

    Activations of a micro-batch in two bytes a value: whole between tensor-parallel ranks and stages (with sequence
    parallelism, a share between stages), a copy for each chosen expert between expert-parallel ranks. Rounded up to a
    power of two, since the published figures are for those.
    """
    batch, length, width = (_number(facts, f"config.{name}") for name in ("micro_batch", "seq_len", "hidden_size"))
    if not (batch and length and width):
        return {}
    whole = 2 * batch * length * width / layout.cp
    part = whole / layout.tp
    split = any(fact.name == "config.sequence_parallel" and fact.value is True for fact in facts)
    found = {"TP": whole, "CP": whole / layout.tp, "PP": part if split else whole}
    if topk := _number(facts, "config.moe_topk"):
        found["EP"] = part * topk
    if bucket := _number(facts, "config.reduce_bucket"):
        found["DP"] = found["EDP"] = 2 * bucket
    return {role: 1 << max(10, min(30, math.ceil(math.log2(size)))) for role, size in found.items()}


def _number(facts: Iterable[Fact], name: str) -> float:
    """A positive number that the job's configuration sets, 0 where it does not."""
    values = [fact.value for fact in facts if fact.name == name and fact.entity == "job"]
    value = values[-1] if values else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0.0


def judged(result: Result, loaded: Loaded) -> Report:
    """What the rules say of it."""
    return judge(Material(loaded, (), tuple(facts_of(result)), (), ()), Answers())
