"""What an uneven load of expert-parallel ranks costs a step.

An expert layer ends when its busiest rank is done. If experts compute for a share s of the time under the mean load,
the busiest rank's load of r times the mean makes the step s (r - 1) longer. How long experts compute is measured and
not guessed: without a trace or timers the cost stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from doctor.facts.derive.progress import number
from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = (
    *("experts.ep_excess", "experts.rank_max_over_mean", "trace.all_to_all_max_over_mean", "trace.comm_ep_time"),
    *("trace.top_kernels", "trace.span_us", "event:deepspeed.moe_timers", "run.optimizer_share"),
)
GIVES = ("experts.compute_share", "experts.step_cost")

GROUPED = re.compile(r"group(?:ed)?_?(?:gemm|mm)|gemm_?grouped|GroupProblemShape|fused_?moe|moe_?gemm", re.IGNORECASE)
"""Products of many experts in one kernel: CUTLASS's grouped GEMM of either generation, fused_moe of Triton. Experts
that run as plain products have no name of their own."""


def derive(store: FactStore) -> Iterator[Fact]:
    share = _share(store)
    if share is None:
        return
    value, because = share
    yield Fact("experts.compute_share", value, "job", Source("derived"), None, Quality.DERIVED, tuple(because))
    excess = _excess(store)
    if excess is not None:
        sources = (*(excess.because or (excess.source,)), *because)
        above = float(str(excess.value)) - (0.0 if excess.name == "experts.ep_excess" else 1.0)
        yield Fact("experts.step_cost", above * value, "job", Source("derived"), None, Quality.DERIVED, sources)


def _excess(store: FactStore) -> Fact | None:
    """The load of the busiest rank: of counted tokens, else as the exchanges of a trace bring it."""
    for name in ("experts.ep_excess", "experts.rank_max_over_mean"):
        if (known := store.get(name)) is not None:
            return known
    return store.get("trace.all_to_all_max_over_mean") if any(store.every("trace.comm_ep_time")) else None


def _share(store: FactStore) -> tuple[float, Sequence[Source]] | None:
    """Of a trace the mean over its ranks, since their loads differ; of timers the median over the lines."""
    shares, sources = [], []
    for fact in store.every("trace.top_kernels"):
        span = store.get("trace.span_us", fact.entity)
        if not fact.entity.startswith("rank:") or span is None or not isinstance(fact.value, tuple):
            continue
        if (time := sum(_seconds(str(word)) for word in fact.value)) > 0 and float(str(span.value)) > 0:
            shares.append(time * 1e6 / float(str(span.value)))
            sources.append(fact.source)
    if shares:
        return min(fmean(shares), 1.0), sources
    for event in store.events("deepspeed.moe_timers"):
        forward, moe, *exchange = (number(event, name) for name in ("forward_ms", "moe_ms", "first_ms", "second_ms"))
        if forward and moe and moe <= forward and None not in exchange:
            shares.append(max(moe - sum(time for time in exchange if time), 0.0) / forward)
            sources.append(event.source)
    if not shares:
        return None
    optimizer = store.get("run.optimizer_share")
    rest = 1.0 if optimizer is None else 1.0 - float(str(optimizer.value))
    return median(shares[1:] or shares) * rest, sources[:1]


def _seconds(word: str) -> float:
    """Time of a kernel, where it is one of experts."""
    name, _, text = word.rpartition("=")
    try:
        return float(text) if GROUPED.search(name) else 0.0
    except ValueError:
        return 0.0
