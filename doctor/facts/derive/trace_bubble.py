"""The pipeline's bubble as it was traced, beside the one of its schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("trace.exposed_pp_share", "trace.compute_us", "layout.bubble_share")
GIVES = ("trace.bubble_share", "trace.bubble_excess", "trace.stage_compute_over_mean")

HURRIED = 0.5
"""The stage that the others wait for waits at most half as long as they do on average."""


def derive(store: FactStore) -> Iterator[Fact]:
    """A stage that has nothing to do waits inside a send or receive kernel, without computation beside it.

    The share of the schedule is (p-1)/(v*m+p-1) (Narayanan et al., 2021, section 2.2).
    """
    waits = [fact for fact in store.every("trace.exposed_pp_share") if fact.entity.startswith("rank:")]
    shares = [(float(str(fact.value)), fact) for fact in waits]
    if not shares:
        return
    share = fmean(value for value, _ in shares)
    worst = max(shares, key=lambda pair: pair[0])[1].source
    yield Fact("trace.bubble_share", share, "job", Source("derived"), None, Quality.DERIVED, (worst,))
    yield from _heaviest(store, shares)
    planned = store.get("layout.bubble_share")
    if planned is not None:
        excess = share - float(str(planned.value))
        because = (worst, *(planned.because or (planned.source,)))
        yield Fact("trace.bubble_excess", excess, "job", Source("derived"), None, Quality.DERIVED, because)


def _heaviest(store: FactStore, shares: Sequence[tuple[float, Fact]]) -> Iterator[Fact]:
    """The rank with most computation over the mean, where it is the others that wait: no schedule makes stages of
    unlike work wait alike."""
    work = {fact.entity: known for _, fact in shares if (known := store.get("trace.compute_us", fact.entity))}
    times = {entity: float(str(fact.value)) for entity, fact in work.items()}
    if len(times) < 2 or not (mean := fmean(times.values())):
        return
    rank = max(times, key=lambda entity: times[entity])
    own = next((share, fact) for share, fact in shares if fact.entity == rank)
    others = [share for share, fact in shares if fact.entity != rank]
    if own[0] <= HURRIED * fmean(others):
        because = (work[rank].source, own[1].source)
        name = "trace.stage_compute_over_mean"
        yield Fact(name, times[rank] / mean, rank, Source("derived"), None, Quality.DERIVED, because)
