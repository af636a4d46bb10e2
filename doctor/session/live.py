"""The collective tests as one more look at the node, where nothing runs on its GPUs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from doctor.facts.model import Fact
from doctor.session.bench import BenchError, Request, Result, bench
from doctor.session.node import Outcome
from probes.live.collectives.facts import facts_of
from probes.live.collectives.layout import LayoutError
from probes.node.interface.model import ProbeSpec, failed

SPEC = ProbeSpec(
    "collectives", "collective tests between the GPUs of this node, or gloo over its CPU", ("bench.*",), 60.0
)

OPERATIONS = ("all_reduce", "all_to_all")
SMALL, LARGE = 1 << 10, {True: 256 << 20, False: 1 << 20}
"""B of a row for latency and of one for bandwidth, with GPUs (a size that is published) and without."""


def busy(outcomes: Sequence[Outcome]) -> str:
    """Who holds the GPUs of this node, as the probes saw it; nothing where they are free or there are none."""
    facts = [fact for outcome in outcomes for fact in outcome.found]
    if not _gpus(facts):
        return ""
    ranks = next((fact.value for fact in facts if fact.name == "job.ranks_here"), ())
    if isinstance(ranks, tuple) and ranks:
        return f"a job with {len(ranks)} rank(s) runs on this node"
    held = [fact.value for fact in facts if fact.name == "gpu.process_pids"]
    pids = {pid for one in held if isinstance(one, tuple) for pid in one}
    return f"{len(pids)} process(es) hold GPUs of this node" if pids else ""


def live(outcomes: Sequence[Outcome], python: str, told: Callable[[str], None]) -> tuple[Outcome, Result | None]:
    """The quick tests with the job's interpreter: `python`, the one the probes found, or that of this process.

    Where they cannot be made the outcome says why; it never raises.
    """
    facts = [fact for outcome in outcomes for fact in outcome.found]
    found = next((str(fact.value) for fact in facts if fact.name == "job.interpreter"), "")
    request = Request(OPERATIONS, (SMALL, LARGE[_gpus(facts)]), step=15.0, total=SPEC.seconds, told=told)
    begun = time.monotonic()
    try:
        result = bench(request, python or found or sys.executable, "auto", None, None)
    except (BenchError, LayoutError) as error:
        return Outcome(SPEC, [failed("bench.backend", str(error), "job")], seconds=time.monotonic() - begun), None
    assert result is not None  # this process is no rank of a launcher
    return Outcome(SPEC, facts_of(result), seconds=time.monotonic() - begun), result


def refused(reason: str) -> Outcome:
    """The outcome where the tests were not made."""
    return Outcome(SPEC, [failed("bench.backend", reason, "job")])


def _gpus(facts: Sequence[Fact]) -> bool:
    return any(fact.entity.startswith("gpu:") for fact in facts)
